"""Writes databases as Nsight Systems exports them: one for each known age of its schema, and damaged ones.

usage: nsys.py FOLDER

The rows are of one made-up program: kernel `scale` faults on 40 pages that are 1 MiB apart, one fault in a hundred
nanoseconds; the driver brings each page and 60 KiB behind it; a call prefetches 2 MiB; a block leaves and returns; then the
CPU faults on three pages.
"""

import os
import sqlite3
import sys

BASE, CALL, PID = 0x7F0000000000, 0x7F0040000000, 4660 << 24

TABLES = {
    "strings": "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)",
    "gpu": "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, address INTEGER NOT NULL,"
    " numberOfPageFaults INTEGER NOT NULL, faultAccessType INTEGER NOT NULL)",
    "cpu": "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL,"
    " address INTEGER NOT NULL, originalFaultPc INTEGER, CpuInstruction INTEGER NOT NULL, module INTEGER NOT NULL,"
    " unresolvedFaultPc INTEGER, sourceFile INTEGER, sourceLine INTEGER)",
    "copy": "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,"
    " globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER,"
    " migrationCause INTEGER, virtualAddress INTEGER)",
    "kernel": "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,"
    " globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL)",
}

# Years in which all columns were NOT NULL, in another order, of type INT, with fewer of them and no enumeration tables.
OLD = {
    "strings": "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)",
    "gpu": "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (globalPid INT NOT NULL, deviceId INT NOT NULL,"
    " address INT NOT NULL, start INT NOT NULL, end INT NOT NULL, numberOfPageFaults INT NOT NULL,"
    " faultAccessType INT NOT NULL)",
    "cpu": "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INT NOT NULL, globalPid INT NOT NULL,"
    " address INT NOT NULL, CpuInstruction INT NOT NULL, module INT NOT NULL)",
    "copy": "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,"
    " bytes INT NOT NULL, copyKind INT NOT NULL, migrationCause INT NOT NULL, virtualAddress INT NOT NULL)",
    "kernel": "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,"
    " demangledName INT NOT NULL, shortName INT NOT NULL)",
}


def rows(unified):
    """The rows of every table; `unified`: the codes of copies to the GPU and to the CPU."""
    gpu = [
        {
            "start": 1000 + 100 * i,
            "end": 1500 + 100 * i,
            "address": BASE + (i << 20),
            "numberOfPageFaults": 1 + i % 3,
            "faultAccessType": 1 + i % 3,
        }
        for i in range(40)
    ]
    copies = []
    for i in range(40):
        copies.append((1400 + 100 * i, 4096, 0, 2, BASE + (i << 20)))
        copies.append((1410 + 100 * i, 61440, 0, 3, BASE + (i << 20) + 4096))
    copies += [(500, 2 << 20, 0, 1, CALL), (60000, 65536, 1, 4, BASE), (70000, 65536, 0, 2, BASE)]
    copy = [
        {
            "start": s,
            "end": s + 50,
            "bytes": b,
            "copyKind": unified[way],
            "migrationCause": cause,
            "virtualAddress": at,
        }
        for s, b, way, cause, at in copies
    ]
    copy.append(
        {
            "start": 501,
            "end": 601,
            "bytes": 777,
            "copyKind": 1,
            "migrationCause": 0,
            "virtualAddress": 0,
        }
    )
    return {
        "strings": [
            {"id": 1, "value": "void scale<float>(float*, int)"},
            {"id": 2, "value": "scale"},
        ],
        "gpu": gpu,
        "cpu": [
            {"start": 95000 + i, "address": BASE + 4096 * i, "CpuInstruction": 1, "module": 1}
            for i in range(3)
        ],
        "copy": copy,
        "kernel": [{"start": 1200, "end": 90000, "demangledName": 1, "shortName": 2}],
    }


def write(path, tables, data=None, leave_out=(), enums=False, unified=(11, 12), without=()):
    """Writes a database; columns that `data` does not mention are 0."""
    if os.path.exists(path):
        os.remove(path)
    database = sqlite3.connect(path)
    for key, text in tables.items():
        if key in leave_out:
            continue
        for column in without:
            text = text.replace(f" {column} INTEGER NOT NULL,", "").replace(
                f", {column} INTEGER", ""
            )
        database.execute(text)
        name = text.split()[2]
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
        for row in (data or rows(unified))[key]:
            row = {"globalPid": PID, **row}
            database.execute(
                f"INSERT INTO {name} VALUES ({','.join('?' * len(columns))})",
                [row.get(c, 0) for c in columns],
            )
    if enums:
        database.execute(
            "CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT)"
        )
        database.executemany(
            "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (?, ?, ?)",
            [
                (1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"),
                (unified[0], "CUDA_MEMCPY_KIND_UVM_HTOD", "Unified Host-to-Device"),
                (unified[1], "CUDA_MEMCPY_KIND_UVM_DTOH", "Unified Device-to-Host"),
            ],
        )
        database.execute(
            "CREATE TABLE ENUM_CUDA_UNIF_MEM_ACCESS_TYPE (id INTEGER PRIMARY KEY, name TEXT, label TEXT)"
        )
        database.executemany(
            "INSERT INTO ENUM_CUDA_UNIF_MEM_ACCESS_TYPE VALUES (?, ?, ?)",
            [(1, None, "Read"), (2, None, "Write"), (3, None, "Atomic"), (4, None, "Prefetch")],
        )
    database.commit()
    database.close()


def changed(table, column, value, row=0):
    """The rows with one value replaced."""
    data = rows((11, 12))
    data[table][row][column] = value
    return data


def main(folder):
    os.chdir(folder)
    write("new.sqlite", TABLES, enums=True)
    write("old.sqlite", OLD)
    write("renumbered.sqlite", TABLES, enums=True, unified=(21, 22))
    for table in ("gpu", "cpu", "copy", "kernel"):
        write(f"no-{table}.sqlite", TABLES, leave_out=(table,))
    write("none.sqlite", TABLES, leave_out=("gpu", "cpu", "copy"))
    write("only-copies.sqlite", TABLES, leave_out=("gpu", "cpu"))
    write("no-address.sqlite", TABLES, without=("address",))
    write("unplaced.sqlite", TABLES, without=("virtualAddress",))
    write("text.sqlite", TABLES, changed("gpu", "address", "abc\n\x01", 3))
    write("real.sqlite", TABLES, changed("gpu", "start", 1.5))
    write(
        "null.sqlite",
        {**TABLES, "gpu": TABLES["gpu"].replace(" NOT NULL", "")},
        changed("gpu", "address", None),
    )
    write("negative.sqlite", TABLES, changed("copy", "bytes", -4096))
    write("huge.sqlite", TABLES, changed("copy", "bytes", (1 << 63) - 1))
    write("backwards.sqlite", TABLES, changed("kernel", "end", 1))
    write("two-gpus.sqlite", TABLES, changed("gpu", "deviceId", 1, 5))
    write("two-processes.sqlite", TABLES, changed("gpu", "globalPid", 9 << 24, 5))
    with open("new.sqlite", "rb") as file:
        whole = file.read()
    for name, data in {
        "empty": b"",
        "cut": whole[:-5000],
        "head": whole[:50],
        "text-file": b"start,end\n1,2\n" * 20,
    }.items():
        with open(f"{name}.sqlite", "wb") as file:
            file.write(data)
    # A page of the middle is overwritten: the database is damaged, its length and head are right.
    damaged = bytearray(whole)
    for page in range(1, len(whole) // 4096):
        damaged[4096 * page : 4096 * page + 64] = b"\xff" * 64
    with open("damaged.sqlite", "wb") as file:
        file.write(damaged)


main(sys.argv[1])

# A hash join: a table of orders by key, probed by items in another order. usage: join.py ORDERS ITEMS
import sys

orders, items = int(sys.argv[1]), int(sys.argv[2])
by_key = {key * 7919 % 1000003: "customer %d" % (key % 1000) for key in range(orders)}
count = {}
for i in range(items):
    customer = by_key.get(i * 104729 % 1000003)
    if customer is not None:
        count[customer] = count.get(customer, 0) + 1
print(len(count), sum(count.values()))

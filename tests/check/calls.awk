# Who calls whom in one object: reads `nm`, `objdump -dr --no-show-raw-insn` and `objdump -r` of it, one after the other, and
# prints pairs "caller callee". The object is compiled with -ffunction-sections -fno-jump-tables, so that what is not a direct
# call or a jump inside a function is a relocation or an indirect call. Static functions print as FILE:NAME (variable `file`).
# An indirect call prints as "caller *", a function whose address is taken as "* function". In the files *_plugin.c an indirect call
# leaves the library, for a function of the plugin: it prints as "caller plugin".

function node(symbol)
{
	sub(/[-+]0x[0-9a-f]+$/, "", symbol)
	sub(/^\.text\./, "", symbol)
	return (symbol in is_local) ? file ":" symbol : symbol
}

# A direct call or jump without a relocation stays in its section: recursion if it is a call to the start.
function settle()
{
	if (is_call && shown !~ /\+/)
		print current, node(shown)
	is_direct = is_call = 0
}

NF == 3 && $2 ~ /^[tT]$/ { # nm
	if ($2 == "t")
		is_local[$3] = 1
	next
}

/^[0-9a-f]+ <.*>:$/ { # head of a function
	settle()
	name = $2
	gsub(/[<>:]/, "", name)
	current = node(name)
	next
}

/^RELOCATION RECORDS FOR/ { # objdump -r
	settle()
	in_data = $0 ~ /\[\.(ro)?data/
	in_table = 1
	next
}

in_table {
	if (in_data && $2 ~ /^R_/)
		print "*", node($3)
	next
}

$2 ~ /^R_/ { # belongs to the instruction above
	if (is_direct)
		print current, node($3)
	else
		print "*", node($3)
	is_direct = is_call = 0
	next
}

/^ *[0-9a-f]+:\t/ { # an instruction
	settle()
	i = 2
	while ($i ~ /^(bnd|notrack|rep|repz|data16|cs)$/)
		i++
	is_call = $i ~ /^(callq?|bl)$/
	is_direct = is_call || $i ~ /^(jmpq?|j[a-z]+|b|b\..*|cbn?z|tbn?z)$/
	if ((is_direct && $(i + 1) ~ /^\*/) || $i ~ /^(blr|br)$/) {
		print current, file ~ /_plugin\.c$/ ? "plugin" : "*"
		is_direct = is_call = 0
	}
	shown = $NF
	gsub(/[<>]/, "", shown)
}

END {
	settle()
}

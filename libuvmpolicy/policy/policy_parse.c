/* Text to policy: words are read into a copy of the defaults, in place; keys that the result does not use are reset. */
#include "../base/bits_internal.h"
#include "policy_internal.h"

/* How much of a caller's word an error quotes. */
#define QUOTE_MAX 40u

struct span {
	const char *at;
	uint32_t length;
};

static struct span span_of(const char *text)
{
	struct span span = {text, 0};

	while (text[span.length] != '\0')
		span.length++;
	return span;
}

static bool equal(struct span span, const char *text)
{
	for (uint32_t i = 0; i < span.length; i++)
		if (text[i] != span.at[i]) /* also where text ends: a span holds no NUL */
			return false;
	return text[span.length] == '\0';
}

/* A caller's word, cut so that it leaves room for what is said about it. */
static void put_quote(struct text *out, struct span span)
{
	for (uint32_t i = 0; i < span.length && i < QUOTE_MAX; i++)
		put_char(out, span.at[i]);
	if (span.length > QUOTE_MAX)
		put_text(out, "...");
}

static void put_range(struct text *out, uint32_t min, uint32_t max)
{
	put_number(out, min);
	put_text(out, "..");
	put_number(out, max);
}

/* `plugins` has policies that the key may name, too; NULL: none. */
static void put_accepted(struct text *out, const struct parameter *parameter, const struct uvmp_plugins *plugins,
			 enum plugin_key key)
{
	if (parameter->choice == NULL) {
		put_range(out, parameter->min, parameter->max);
		return;
	}
	for (uint32_t i = parameter->min; i <= parameter->max; i++) {
		put_text(out, i > parameter->min ? " " : "");
		put_text(out, parameter->choice(i));
	}
	for (uint32_t i = 0; key != PLUGIN_NONE && uvmpi_plugin_at(plugins, key, i).name != NULL; i++) {
		put_char(out, ' ');
		put_text(out, uvmpi_plugin_at(plugins, key, i).name);
	}
}

static bool parse_number(struct span span, uint32_t max, uint32_t *number)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < span.length; i++) {
		if (span.at[i] < '0' || span.at[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(span.at[i] - '0');
		if (n > max)
			return false;
	}
	*number = (uint32_t)n;
	return true;
}

/* Part of the text; length 0: none. */
struct word {
	uint16_t offset, length;
};

struct parser {
	struct span text;
	struct uvmp_policy policy;
	uint16_t given[KEYS_MAX];	 /* by number of key: 1 + the offset of the word that set it; 0: none has, or a preset */
	struct word word;		 /* the present one */
	struct key_walk walk;		 /* to the key of the last word */
	struct uvmp_policy_error *error; /* NULL: none is wanted */
	const struct uvmp_plugins *plugins; /* NULL: none */
};

/* Points the error at the word and opens its text; the text is empty if the caller wants none. */
static struct text error_at(const struct parser *parser, struct word word)
{
	struct text out = {NULL, 0, 0};

	if (parser->error == NULL)
		return out;
	out.at = parser->error->text;
	out.capacity = UVMP_POLICY_ERROR_MAX;
	parser->error->offset = word.offset;
	parser->error->length = word.length;
	parser->error->text[0] = '\0';
	return out;
}

/* `NAME: WHAT` or, with tail, `NAME: WHAT TAIL`. */
static void say(const struct parser *parser, struct word word, struct span name, const char *what,
		const char *tail)
{
	struct text out = error_at(parser, word);

	put_quote(&out, name);
	put_text(&out, ": ");
	put_text(&out, what);
	put_text(&out, tail);
}

static bool is_separator(char c)
{
	return c == ' ' || c == ',';
}

/* Moves to the next word; false when there is none. */
static bool next_word(struct span text, struct word *word)
{
	uint32_t at = word->offset + word->length;

	while (at < text.length && is_separator(text.at[at]))
		at++;
	word->offset = (uint16_t)at;
	while (at < text.length && !is_separator(text.at[at]))
		at++;
	word->length = (uint16_t)(at - word->offset);
	return word->length > 0;
}

/* Cuts `key=value` at its first '='; false if either side is empty. */
static bool split(struct span word, struct span *name, struct span *value)
{
	uint32_t at = 0;

	while (at < word.length && word.at[at] != '=')
		at++;
	name->at = word.at;
	name->length = at;
	value->at = word.at + at + 1;
	value->length = word.length - at - 1;
	return at > 0 && at + 1 < word.length;
}

/* The key with this name, its number in walk->keys - 1; NULL: there is no such key. The search begins behind the key
 * that was found last: most texts have their keys in the order of the table. */
static const struct key *find_key(struct span name, struct key_walk *walk)
{
	const struct key *key;

	for (uint32_t round = 0; round < 2; round++) {
		while ((key = uvmpi_key_next(walk)) != NULL)
			if (equal(name, key->parameter->name))
				return key;
		*walk = (struct key_walk){0};
	}
	return NULL;
}

static enum uvmp_status read_value(const struct parameter *parameter, struct span text, uint32_t *value)
{
	uint32_t number;

	if (parameter->choice == NULL) {
		if (!parse_number(text, parameter->max, &number) || number < parameter->min)
			return UVMP_ERR_RANGE;
		*value = number;
		return UVMP_OK;
	}
	for (uint32_t i = parameter->min; i <= parameter->max; i++) {
		if (equal(text, parameter->choice(i))) {
			*value = i;
			return UVMP_OK;
		}
	}
	return UVMP_ERR_UNKNOWN;
}

/* A unit test proves that the words of every preset are right. */
static void apply_preset(const struct uvmp_policy_preset *preset, struct uvmp_policy *policy)
{
	struct span text = span_of(preset->text), name, number;
	struct key_walk walk = {0};
	struct word word = {0, 0};

	while (next_word(text, &word)) {
		struct span whole = {text.at + word.offset, word.length};
		const struct key *key;
		uint32_t value = 0;

		(void)split(whole, &name, &number);
		key = find_key(name, &walk);
		(void)read_value(key->parameter, number, &value);
		uvmpi_key_set(key, policy, value);
	}
}

/* NULL: no preset has that name. */
static const struct uvmp_policy_preset *find_preset(struct span name)
{
	const struct uvmp_policy_preset *preset = uvmp_policy_preset_at(0);

	for (uint32_t i = 1; preset != NULL && !equal(name, preset->name); i++)
		preset = uvmp_policy_preset_at(i);
	return preset;
}

static enum uvmp_status take_preset(struct parser *parser, struct span wanted, bool is_first)
{
	const struct uvmp_policy_preset *preset = find_preset(wanted);
	struct text out;

	if (!is_first) {
		say(parser, parser->word, span_of("preset"), "must be the first word, and occur once", "");
		return UVMP_ERR_CONFLICT;
	}
	if (preset != NULL) {
		apply_preset(preset, &parser->policy);
		return UVMP_OK;
	}
	out = error_at(parser, parser->word);
	put_text(&out, "preset: \"");
	put_quote(&out, wanted);
	put_text(&out, "\" is not accepted");
	return UVMP_ERR_UNKNOWN;
}

static void reject_value(const struct parser *parser, const struct parameter *parameter, enum plugin_key key,
			 struct span value)
{
	struct text out = error_at(parser, parser->word);
	const char *quote = parameter->choice != NULL ? "\"" : "";

	put_text(&out, parameter->name);
	put_text(&out, ": ");
	put_text(&out, quote);
	put_quote(&out, value);
	put_text(&out, quote);
	put_text(&out, " is not accepted; ");
	put_accepted(&out, parameter, parser->plugins, key);
}

/* -- plugins -- */

/* The key names a plugin of the list; false: the list has no such name. */
static bool take_plugin(struct parser *parser, enum plugin_key key, struct span name)
{
	const char *own;

	if (key == PLUGIN_NONE)
		return false;
	for (uint32_t i = 0; (own = uvmpi_plugin_at(parser->plugins, key, i).name) != NULL; i++) {
		if (equal(name, own)) {
			uvmpi_policy_set_plugin(&parser->policy, key, parser->plugins, i);
			return true;
		}
	}
	return false;
}

/* The plugin of the list that has this parameter, of the kind of a key; name NULL: none has. */
static struct plugin_head owner_of(const struct parser *parser, enum plugin_key key, struct span name)
{
	struct plugin_head plugin = uvmpi_plugin_at(parser->plugins, key, 0);

	for (uint32_t i = 1; plugin.name != NULL && uvmpi_plugin_parameter(&plugin, name.at, name.length) == NULL; i++)
		plugin = uvmpi_plugin_at(parser->plugins, key, i);
	return plugin;
}

static bool is_parameter(const struct parser *parser, struct span name)
{
	return owner_of(parser, PLUGIN_PREFETCH, name).name != NULL || owner_of(parser, PLUGIN_EVICT, name).name != NULL;
}

/* The kind of plugin that the policy names and that has the parameter; PLUGIN_NONE: none. */
static enum plugin_key taker_of(const struct parser *parser, struct span name, struct plugin_head *plugin)
{
	static const enum plugin_key keys[] = {PLUGIN_PREFETCH, PLUGIN_EVICT};
	const uint32_t value[] = {(uint32_t)parser->policy.prefetch.prefetcher, (uint32_t)parser->policy.evict};

	for (uint32_t i = 0; i < 2u; i++) {
		if (!uvmpi_is_plugin(keys[i], value[i]))
			continue;
		*plugin = uvmpi_policy_plugin(&parser->policy, keys[i]);
		if (uvmpi_plugin_parameter(plugin, name.at, name.length) != NULL)
			return keys[i];
	}
	return PLUGIN_NONE;
}

static enum uvmp_status reject_owner(const struct parser *parser, struct span name)
{
	struct plugin_head owner = owner_of(parser, PLUGIN_PREFETCH, name);

	if (owner.name != NULL) {
		say(parser, parser->word, name, "used only by prefetch=", owner.name);
		return UVMP_ERR_CONFLICT;
	}
	say(parser, parser->word, name, "used only by evict=", owner_of(parser, PLUGIN_EVICT, name).name);
	return UVMP_ERR_CONFLICT;
}

/* The name is that of a parameter of some plugin. given[]: bit i: parameter i was given, by kind. */
static enum uvmp_status take_parameter(struct parser *parser, struct span name, struct span value, uint32_t *given)
{
	struct plugin_head plugin;
	enum plugin_key key = taker_of(parser, name, &plugin);
	struct parameter range = {.name = ""};
	const struct uvmp_plugin_parameter *parameter;
	uint32_t *values = key == PLUGIN_EVICT ? parser->policy.evict_value : parser->policy.prefetch.value;
	uint32_t index;

	if (key == PLUGIN_NONE)
		return reject_owner(parser, name);
	parameter = uvmpi_plugin_parameter(&plugin, name.at, name.length);
	index = (uint32_t)(parameter - plugin.parameter);
	if ((given[key] >> index & 1u) != 0) {
		say(parser, parser->word, name, "given twice", "");
		return UVMP_ERR_CONFLICT;
	}
	given[key] |= (uint32_t)1 << index;
	for (uint32_t i = 0; i < name.length; i++)
		range.name[i] = name.at[i];
	range.min = parameter->min;
	range.max = parameter->max;
	if (read_value(&range, value, &values[index]) == UVMP_OK)
		return UVMP_OK;
	reject_value(parser, &range, PLUGIN_NONE, value);
	return UVMP_ERR_RANGE;
}

/* Reads the words that are parameters of plugins: all plugins are known now. */
static UVMPI_NOINLINE enum uvmp_status take_parameters(struct parser *parser)
{
	uint32_t given[PLUGIN_EVICT + 1] = {0};
	enum uvmp_status status = UVMP_OK;
	struct span name, value;

	parser->word = (struct word){0, 0};
	while (status == UVMP_OK && next_word(parser->text, &parser->word)) {
		struct span word = {parser->text.at + parser->word.offset, parser->word.length};

		if (split(word, &name, &value) && is_parameter(parser, name))
			status = take_parameter(parser, name, value, given);
	}
	return status;
}

/* The name of a key stands alone. The returned text lacks the accepted values. */
static struct text miss_value(const struct parser *parser, struct span name)
{
	struct text out = error_at(parser, parser->word);

	put_quote(&out, name);
	put_text(&out, ": a value must follow ");
	put_quote(&out, name);
	put_text(&out, "=; ");
	return out;
}

/* The name of a parameter of a plugin stands alone. */
static void miss_parameter(const struct parser *parser, struct span name)
{
	struct plugin_head owner = owner_of(parser, PLUGIN_PREFETCH, name);
	const struct uvmp_plugin_parameter *parameter;
	struct text out = miss_value(parser, name);

	if (owner.name == NULL)
		owner = owner_of(parser, PLUGIN_EVICT, name);
	parameter = uvmpi_plugin_parameter(&owner, name.at, name.length);
	put_range(&out, parameter->min, parameter->max);
}

/* Writes why a word that is neither a preset nor key=value is refused. */
static UVMPI_NOINLINE void reject_word(struct parser *parser, struct span word, struct span name)
{
	const struct key *key = find_key(name, &parser->walk);
	struct text out;

	if (key != NULL) {
		out = miss_value(parser, name);
		put_accepted(&out, key->parameter, parser->plugins, (enum plugin_key)key->plugin);
	} else if (equal(name, "preset")) {
		say(parser, parser->word, name, "the name of a preset must follow preset=", "");
	} else if (is_parameter(parser, name)) {
		miss_parameter(parser, name);
	} else {
		say(parser, parser->word, word, "neither key=value nor a preset", "");
	}
}

static enum uvmp_status take_word(struct parser *parser, bool is_first)
{
	struct span word = {parser->text.at + parser->word.offset, parser->word.length}, name, value;
	const struct key *key;
	enum uvmp_status status;
	uint16_t *given;
	uint32_t number;

	if (!split(word, &name, &value)) {
		if (find_preset(word) != NULL)
			return take_preset(parser, word, is_first);
		reject_word(parser, word, name);
		return UVMP_ERR_SYNTAX;
	}
	if (equal(name, "preset"))
		return take_preset(parser, value, is_first);
	key = find_key(name, &parser->walk);
	if (key == NULL) {
		if (is_parameter(parser, name))
			return UVMP_OK; /* take_parameters reads it */
		say(parser, parser->word, name, "no such key", "");
		return UVMP_ERR_UNKNOWN;
	}
	given = &parser->given[parser->walk.keys - 1];
	if (*given != 0) {
		say(parser, parser->word, name, "given twice", "");
		return UVMP_ERR_CONFLICT;
	}
	status = read_value(key->parameter, value, &number);
	*given = (uint16_t)(parser->word.offset + 1u);
	if (status == UVMP_OK) {
		uvmpi_key_set(key, &parser->policy, number);
		return UVMP_OK;
	}
	if (take_plugin(parser, (enum plugin_key)key->plugin, value))
		return UVMP_OK;
	reject_value(parser, key->parameter, (enum plugin_key)key->plugin, value);
	return status;
}

static void reject_limit(const struct parser *parser, struct word word, const struct key *key,
			 const struct limit *limit)
{
	struct text out = error_at(parser, word);

	put_text(&out, key->parameter->name);
	put_text(&out, ": ");
	put_number(&out, uvmpi_key_get(key, &parser->policy));
	put_text(&out, " is not accepted with ");
	put_text(&out, limit->by);
	put_char(&out, '=');
	put_number(&out, limit->by_value);
	put_text(&out, "; ");
	put_range(&out, limit->min, limit->max);
}

/* The word that set the key of this number. */
static struct word given_word(const struct parser *parser, uint32_t number)
{
	struct word word = {(uint16_t)(parser->given[number] - 1u), 0};

	(void)next_word(parser->text, &word);
	return word;
}

/* Clamps a key that was defaulted to keys that were given. False: the key was given, and contradicts another key. */
static bool fit(struct parser *parser, const struct key *key, bool is_given)
{
	struct limit limit;
	uint32_t value;

	if (key->parameter->limit == LIMIT_NONE)
		return true;
	limit = uvmpi_key_limit(key, &parser->policy);
	value = uvmpi_key_get(key, &parser->policy);
	if (value >= limit.min && value <= limit.max)
		return true;
	if (is_given)
		return false;
	uvmpi_key_set(key, &parser->policy, value < limit.min ? limit.min : limit.max);
	return true;
}

/* Resets the keys that the result does not use, and fits the others. A key that the text sets, and that has no use,
 * is an error; so is, if there is no such key, a key that contradicts another. */
static UVMPI_NOINLINE enum uvmp_status settle(struct parser *parser)
{
	struct key_walk walk = {0};
	struct key contrary = {.parameter = NULL};
	struct word at = {0, 0};
	struct limit limit;
	const struct key *key;

	while ((key = uvmpi_key_next(&walk)) != NULL) {
		uint32_t number = walk.keys - 1u;
		bool is_given = parser->given[number] != 0;

		if (uvmpi_key_is_used(key, &parser->policy)) {
			if (!fit(parser, key, is_given) && contrary.parameter == NULL) {
				contrary = *key;
				at = given_word(parser, number);
			}
			continue;
		}
		if (is_given) {
			struct text out = error_at(parser, given_word(parser, number));

			put_text(&out, key->parameter->name);
			put_text(&out, ": used only by ");
			uvmpi_key_put_use(key, &out);
			return UVMP_ERR_CONFLICT;
		}
		uvmpi_key_set(key, &parser->policy, key->parameter->initial);
	}
	if (contrary.parameter == NULL)
		return UVMP_OK;
	limit = uvmpi_key_limit(&contrary, &parser->policy);
	reject_limit(parser, at, &contrary, &limit);
	return UVMP_ERR_CONFLICT;
}

/* Only printable bytes may reach words and error texts. */
static enum uvmp_status check_bytes(const struct parser *parser, size_t length)
{
	struct word word = {UVMP_POLICY_TEXT_MAX, 1};
	struct text out;

	if (length > UVMP_POLICY_TEXT_MAX) {
		out = error_at(parser, word);
		put_text(&out, "longer than ");
		put_number(&out, UVMP_POLICY_TEXT_MAX);
		put_text(&out, " bytes");
		return UVMP_ERR_SYNTAX;
	}
	for (word.offset = 0; word.offset < length; word.offset++) {
		uint8_t byte = (uint8_t)parser->text.at[word.offset];

		if (byte >= 0x20 && byte <= 0x7e)
			continue;
		out = error_at(parser, word);
		put_text(&out, "byte ");
		put_number(&out, byte);
		put_text(&out, " is not printable ASCII");
		return UVMP_ERR_SYNTAX;
	}
	return UVMP_OK;
}

static enum uvmp_status parse(struct parser *parser, size_t length)
{
	enum uvmp_status status = check_bytes(parser, length);
	bool is_first = true;

	if (status != UVMP_OK)
		return status;
	parser->text.length = (uint32_t)length;
	uvmpi_policy_reset(&parser->policy);
	while (next_word(parser->text, &parser->word)) {
		status = take_word(parser, is_first);
		if (status != UVMP_OK)
			return status;
		is_first = false;
	}
	status = settle(parser);
	if (status == UVMP_OK && parser->plugins != NULL)
		status = take_parameters(parser);
	uvmpi_policy_share(&parser->policy);
	return status;
}

/* Is the list valid? If not, the error says why. */
static enum uvmp_status check_plugins(const struct parser *parser)
{
	enum uvmp_status status = UVMP_OK;
	struct text out;

	if (parser->plugins != NULL)
		status = uvmp_plugins_check(parser->plugins, NULL, 0);
	if (status == UVMP_OK)
		return UVMP_OK;
	out = error_at(parser, parser->word);
	(void)uvmp_plugins_check(parser->plugins, out.at, out.capacity);
	return status;
}

enum uvmp_status uvmp_policy_parse_plugins_size(const char *text, size_t length, const struct uvmp_plugins *plugins,
						struct uvmp_policy *policy, size_t size,
						struct uvmp_policy_error *error)
{
	struct parser parser = {.text = {text, 0}, .error = error, .plugins = plugins};
	enum uvmp_status status;

	if (text == NULL || policy == NULL || !uvmpi_sized_fits(size, POLICY_SIZE_LEAST)) {
		struct text out = error_at(&parser, parser.word);

		put_text(&out, uvmp_status_text(UVMP_ERR_ARGUMENT));
		return UVMP_ERR_ARGUMENT;
	}
	status = check_plugins(&parser);
	if (status == UVMP_OK)
		status = parse(&parser, length);
	if (status == UVMP_OK)
		status = uvmpi_sized_write(policy, size, &parser.policy, sizeof(parser.policy), POLICY_SIZE_LEAST);
	return status;
}

enum uvmp_status uvmp_policy_parse_size(const char *text, size_t length, struct uvmp_policy *policy, size_t size,
					struct uvmp_policy_error *error)
{
	return uvmp_policy_parse_plugins_size(text, length, NULL, policy, size, error);
}

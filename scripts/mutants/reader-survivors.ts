/** Those of what reads tokens and headers. */
import { type Survivor, survivors } from './survivor.ts'

export const OF_READERS: readonly Survivor[] = [
  ...survivors(
    'sidecar/base/request-target.ts',
    'It only spares two looks at a path that encodes nothing, which find nothing.',
    ["if (path.includes('%') && REFUSED_ENCODING.test(path))", "'%'", '""'],
    [
      "return path.includes('%') && !isUtf8(path) ? 'encoded characters that are UTF-8' : undefined",
      "'%'",
      '""',
    ],
  ),
  ...survivors('sidecar/base/request-target.ts', 'Nothing is returned then, which is as false.', [
    '} catch {',
    '{',
    '{}',
  ]),
  ...survivors(
    'sidecar/contract/ext-authz/header-filter.ts',
    'It only spares a look into an empty list for each header that is not relevant.',
    [
      'further.length === 0 ? isRelevant : (name) => isRelevant(name) || further.includes(name.toLowerCase()),',
      'further.length === 0',
      'false',
    ],
  ),
  ...survivors(
    'sidecar/contract/ext-authz/header-filter.ts',
    'Beyond the end of the array there is no number, so that is not 0 either.',
    ['length > NAME_LENGTH_MAX ||', 'length > NAME_LENGTH_MAX', 'false'],
  ),
  ...survivors('sidecar/base/ip-address.ts', 'It only spares the expression that is for the other forms.', [
    'if (version === 4) return text as IpAddress',
    'version === 4',
    'false',
  ]),
  ...survivors(
    'sidecar/base/ip-address.ts',
    'Node does not take a value that is not a text for an address.',
    ['return v6 !== undefined && isIP(v6) === 6 ? ipAddress(v6) : undefined', 'v6 !== undefined', 'true'],
  ),
  ...survivors('sidecar/base/ip-address.ts', 'The first of what an expression finds is not read.', [
    'const [, v6, v4] = NODE.exec(unquoted(text)) ?? []',
    '[]',
    '["Stryker was here"]',
  ]),
  ...survivors(
    'sidecar/base/ip-address.ts',
    'There always is something before `::`, and without `::` four groups are enough.',
    ['const [before = [], after = []] = address', '[]', '["Stryker was here"]'],
  ),
  ...survivors(
    'sidecar/authority/upstream/token-answer.ts',
    'It only spares to look for further problems, which are not reported.',
    ['const reading = readJson(body, { firstProblem: true })', '{ firstProblem: true }', '{}'],
    ['const reading = readJson(body, { firstProblem: true })', 'true', 'false'],
  ),
  ...survivors(
    'sidecar/authority/iam-token.ts',
    'It only spares to index the same keys again for each token.',
    ['if (this.#ring.keys === this.#indexed) return', 'this.#ring.keys === this.#indexed', 'false'],
  ),
  ...survivors(
    'sidecar/authority/own-form.ts',
    'It only spares to find the same prefixes again for each token.',
    ['if (prefixes === undefined) {', 'prefixes === undefined', 'true'],
    ['PREFIXES.set(kinds, prefixes)', 'PREFIXES.set(kinds, prefixes)', ';'],
  ),
  ...survivors(
    'sidecar/proxies/identity-headers.ts',
    'It only spares to find out the same again for each request.',
    ['if (relevance === undefined) {', 'relevance === undefined', 'true'],
    ['RELEVANCE.set(engine, relevance)', 'RELEVANCE.set(engine, relevance)', ';'],
  ),
  ...survivors(
    'sidecar/proxies/identity-headers.ts',
    'It only spares the expression, which no other name fits.',
    [
      'return (name.charCodeAt(2) | 0x20) === LETTER_P && IDENTITY.test(name)',
      '(name.charCodeAt(2) | 0x20) === LETTER_P',
      'true',
    ],
  ),
  ...survivors(
    'sidecar/proxies/identity-headers.ts',
    'It only spares to replace underscores where there are none.',
    ["return lower.includes('_') ? lower.replaceAll('_', '-') : lower", "'_'", '""'],
  ),
  ...survivors('sidecar/egress/headers.ts', 'It only spares to replace underscores where there are none.', [
    "return lower.includes('_') ? lower.replaceAll('_', '-') : lower",
    "'_'",
    '""',
  ]),
  ...survivors('sidecar/egress/headers.ts', 'It only spares to write most names in lower case once more.', [
    "if (name.length === 10 && name.toLowerCase() === 'connection')",
    'name.length === 10',
    'true',
  ]),
  ...survivors(
    'sidecar/contract/ext-authz/request.ts',
    'It only spares to read a name that is not looked at.',
    ['if (maybe) key = fields.characters()', 'maybe', 'true'],
  ),
  ...survivors('sidecar/contract/ext-authz/request-trace.ts', 'Nothing is returned then either.', [
    '} catch {',
    '{',
    '{}',
  ]),
]

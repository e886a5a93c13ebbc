/** Those of `matrix/`. */
import { SOME_TEXT, type Survivor, survivors } from './survivor.ts'

const REMEMBERS =
  "const tests = matchers.map((matcher) => (about === 'cell' ? remembered(cells, matcher) : matcher.fits))"

const NO_JSON = "return { ok: false, problems: [{ path: '', expected: 'expected JSON' }] }"

const LIFETIMES =
  "lifetimeSeconds: (was, is) => ((is ?? Infinity) > (was ?? Infinity) ? 'loosened' : 'tightened'),"

export const OF_MATRIX: readonly Survivor[] = [
  ...survivors('matrix/kind-flips.ts', 'It is asked about lifetimes that differ.', [
    LIFETIMES,
    '(is ?? Infinity) > (was ?? Infinity)',
    '(is ?? Infinity) >= (was ?? Infinity)',
  ]),
  ...survivors('matrix/kind-flips.ts', 'An id that is not in the list comes first, too.', [
    "const ORDER: readonly KindDirection[] = ['loosened', 'changed', 'tightened']",
    "'loosened'",
    '""',
  ]),
  ...survivors('matrix/kind-flips.ts', 'Names are ASCII: both cases distinguish the same names.', [
    'return canonicalJson(isName ? value.toLowerCase() : value)',
    'value.toLowerCase()',
    'value.toUpperCase()',
  ]),
  ...survivors('matrix/query/parse.ts', 'A list of one says what its item says.', [
    'return of.length === 1 ? (of[0] as Query) : { type, of }',
    'of.length === 1',
    'false',
  ]),
  ...survivors('matrix/query/parse.ts', 'No term has either text.', [
    "const name = token?.type === 'word' ? token.text.toLowerCase() : ''",
    "''",
    SOME_TEXT,
  ]),
  ...survivors(
    'matrix/query/evaluate.ts',
    'Answers are remembered to spare work: asked again, they are the same.',
    [REMEMBERS, "about === 'cell'", 'true'],
    [REMEMBERS, "about === 'cell'", 'false'],
    [REMEMBERS, "about === 'cell'", "about !== 'cell'"],
    [REMEMBERS, "'cell'", '""'],
    ["if (about === 'cell') return fits", "about === 'cell'", 'true'],
    ['if (row !== last) [last, answer] = [row, fits(row, column)]', 'row !== last', 'true'],
  ),
  ...survivors('matrix/query/evaluate.ts', 'A term about neither APIs nor kinds is about cells.', [
    "const about: About = abouts.size === 1 ? (matchers[0] as Matcher).about : 'cell'",
    "'cell'",
    '""',
  ]),
  ...survivors('matrix/loose-rows.ts', 'Any number does that no other row has.', [
    `const id = (value: unknown) => (typeof value === 'string' ? value : \`\${++unread}\${NO_TEXT}\`)`,
    '++unread',
    '--unread',
  ]),
  ...survivors(
    'matrix/document/json.ts',
    'A text that the walk accepts is read by `JSON.parse`; if ever it is not, its message must not get out.',
    ['} catch {', '{', '{}'],
    [NO_JSON, "{ ok: false, problems: [{ path: '', expected: 'expected JSON' }] }", '{}'],
    [NO_JSON, 'false', 'true'],
    [NO_JSON, "[{ path: '', expected: 'expected JSON' }]", '[]'],
    [NO_JSON, "{ path: '', expected: 'expected JSON' }", '{}'],
    [NO_JSON, "''", SOME_TEXT],
    [NO_JSON, "'expected JSON'", '""'],
  ),
  ...survivors('matrix/document/json.ts', 'The walk throws nothing else.', [
    'if (error !== ENOUGH) throw error',
    'error !== ENOUGH',
    'false',
  ]),
  ...survivors(
    'matrix/document/json.ts',
    'White space before the text and between its tokens says nothing.',
    ['readonly #foreign: (readonly [offset: number, length: number])[] = []', '[]', '["Stryker was here"]'],
    ["return [...parts, text.slice(end)].join(' ')", "' '", '""'],
  ),
  ...survivors('matrix/document/json.ts', 'A value follows a colon, and takes it back.', [
    "if (character === ',') this.#comma = offset",
    "character === ','",
    'true',
  ]),
  ...survivors(
    'matrix/document/places.ts',
    'Separators and keys are inside of something, and nothing is looked for outside.',
    ['const levels: Level[] = []', '[]', '["Stryker was here"]'],
    ['if (level?.index !== undefined) level.index++', 'level?.index', 'level.index'],
    ['next = levels.at(-1)?.wanted?.members.get(key)', 'levels.at(-1)?.wanted', 'levels.at(-1).wanted'],
  ),
  ...survivors(
    'matrix/edits.ts',
    'No row has a field of that name.',
    ['statements: [],', '[]', '["Stryker was here"]'],
    [
      "const CELL_FIELDS: typeof CLAIM_ID_FIELDS = { apis: ['api'], tokenKinds: ['kind'], statements: [] }",
      '[]',
      '["Stryker was here"]',
    ],
  ),
  ...survivors('matrix/edits.ts', 'Equal segments are passed over before.', [
    'return (segment as string) < (against as string) ? -1 : 1',
    '(segment as string) < (against as string)',
    'segment as string <= (against as string)',
  ]),
  ...survivors('matrix/query/index.ts', 'It only spares a list that is empty.', [
    'conflicts: conflicts.length === 0 ? NONE : conflicts.map(idOf),',
    'conflicts.length === 0',
    'false',
  ]),
  ...survivors(
    'matrix/similar-ids.ts',
    'Ids have letters, digits and marks, and no character before or behind all of these.',
    ['const isDigit = (code: number): boolean => code >= 48 && code <= 57', 'code >= 48', 'true'],
    ['const isLetter = (code: number): boolean => code >= 97 && code <= 122', 'code <= 122', 'true'],
  ),
  ...survivors(
    'matrix/similar-ids.ts',
    'Behind the last letter there is none; and another hash does as well.',
    ['for (let at = 0; at < word.length; at++) {', 'at < word.length', 'at <= word.length'],
    [
      'begun.push((Math.imul(begun[at] as number, BASE) + word.charCodeAt(at)) | 0)',
      'Math.imul(begun[at] as number, BASE) + word.charCodeAt(at)',
      'Math.imul(begun[at] as number, BASE) - word.charCodeAt(at)',
    ],
  ),
  ...survivors('matrix/derive.ts', 'Claims of no other type are exclusive: the type is for the compiler.', [
    "if (other.claim.type !== 'issued_to' || !other.claim.exclusive || other.claim.holder === claim.holder)",
    "other.claim.type !== 'issued_to'",
    'false',
  ]),
  ...survivors('matrix/compare.ts', 'It only spares a look: equal answers flip nothing.', [
    'if (was === is) continue',
    'was === is',
    'false',
  ]),
  ...survivors(
    'matrix/renames.ts',
    'Two of one title are as many as a thousand: none of them is meant.',
    ['if (same !== undefined && same.length < 2) same.push(api)', 'same.length < 2', 'true'],
    ['if (same !== undefined && same.length < 2) same.push(api)', 'same.length < 2', 'same.length <= 2'],
  ),
  ...survivors('matrix/compare.ts', 'It only spares an object with the same fields.', [
    'return conflicts.length === 0 ? side : { ...side, conflicts: conflicts.map(({ id }) => id) }',
    'conflicts.length === 0',
    'false',
  ]),
  ...survivors('matrix/compare.ts', 'It only spares the comparison of an item with itself.', [
    'if (earlier !== undefined && earlier !== item) {',
    'earlier !== item',
    'true',
  ]),
  ...survivors(
    'matrix/policy-tests/run.ts',
    'It only spares to describe what is counted and not listed.',
    [
      'if (!isTwin && this.first.length >= FAILURES_MAX) return',
      '!isTwin && this.first.length >= FAILURES_MAX',
      'false',
    ],
    [
      'if (!isTwin && this.first.length >= FAILURES_MAX) return',
      'this.first.length >= FAILURES_MAX',
      'this.first.length > FAILURES_MAX',
    ],
  ),
  ...survivors('matrix/policy-tests/run.ts', 'Tests that expect nothing are refused before.', [
    'wanted: isRow ? { ...NOTHING, allowed: wanted.accepted?.has(kind) === true } : wanted,',
    'wanted.accepted?.has',
    'wanted.accepted.has',
  ]),
  ...survivors('matrix/policy-tests/run.ts', 'An allowed flip is about an API that is there.', [
    'return decision.allowed ? (apis.get(api)?.accepted ?? NONE) : decision.accepted',
    'apis.get(api)?.accepted',
    'apis.get(api).accepted',
  ]),
  ...survivors(
    'matrix/policy-tests/run.ts',
    'Without expected kinds every answer has them; and a field that is undefined is as one that is absent.',
    [
      'if (accepted !== undefined && !meets({ ...NOTHING, accepted }, engine, api, decision))',
      'accepted !== undefined',
      'true',
    ],
    [
      'const NOTHING: Wanted = { allowed: undefined, reason: undefined, accepted: undefined }',
      '{ allowed: undefined, reason: undefined, accepted: undefined }',
      '{}',
    ],
  ),
  ...survivors(
    'matrix/policy-tests/credential.ts',
    'No kind is undefined, and tokens of unknown kinds are refused before.',
    [
      'const obtainedBy = kind === undefined ? undefined : this.#kinds.get(kind)?.obtained.by',
      'kind === undefined',
      'false',
    ],
    [
      'const obtainedBy = kind === undefined ? undefined : this.#kinds.get(kind)?.obtained.by',
      'this.#kinds.get(kind)?.obtained',
      'this.#kinds.get(kind).obtained',
    ],
  ),
  ...survivors(
    'matrix/plan.ts',
    'All kinds together open what any opens, so there is a smallest set.',
    ['for (let size = 0; size <= items.length; size++) {', 'size <= items.length', 'size < items.length'],
    ['return []', '[]', '["Stryker was here"]'],
    ['return first?.kinds ?? []', '[]', '["Stryker was here"]'],
    ['return first?.kinds ?? []', 'first?.kinds', 'first.kinds'],
    [
      'return chosen !== undefined && contestedCells(engine, chosen, [api]) > 0',
      'chosen !== undefined',
      'true',
    ],
  ),
  ...survivors(
    'matrix/plan.ts',
    'Only APIs of the matrix are asked about.',
    [
      'known.map((api) => [api, new Set(engine.apis.get(api)?.accepted.map(({ kind }) => kind))]),',
      'engine.apis.get(api)?.accepted',
      'engine.apis.get(api).accepted',
    ],
    [
      'const opens = (kind: TokenKind, api: string) => openedBy.get(api)?.has(kind.id) === true',
      'openedBy.get(api)?.has',
      'openedBy.get(api).has',
    ],
  ),
  ...survivors(
    'matrix/plan.ts',
    'It only spares to search with kinds that a smallest set has not, or has already.',
    [
      'const candidates = [...engine.tokenKinds.values()].filter((kind) => known.some((api) => opens(kind, api)))',
      '[...engine.tokenKinds.values()].filter((kind) => known.some((api) => opens(kind, api)))',
      '[...engine.tokenKinds.values()]',
    ],
    [
      'const rest = candidates.filter((kind) => !forced.includes(kind))',
      'candidates.filter((kind) => !forced.includes(kind))',
      'candidates',
    ],
  ),
  ...survivors('matrix/plan.ts', 'A difference that is not a number decides as little as one of 0.', [
    'contested: (kind: TokenKind) => number = () => 0,',
    '() => 0',
    '() => undefined',
  ]),
  ...survivors('matrix/explain.ts', 'No other claim with a list of APIs is complete.', [
    "return claim.apis.includes(api) || (claim.type === 'manages' && claim.complete)",
    "claim.type === 'manages'",
    'true',
  ]),
  ...survivors('matrix/document/yaml.ts', 'A parsed document has directives; only the type lets them lack.', [
    'if (document.directives?.yaml.version !== YAML_OPTIONS.version)',
    'document.directives?.yaml',
    'document.directives.yaml',
  ]),
  ...survivors('matrix/document/yaml.ts', 'It only spares to parse a text where no place is asked for.', [
    'if (paths.length === 0) return []',
    'paths.length === 0',
    'false',
  ]),
  ...survivors(
    'matrix/edit-file.ts',
    'It only spares to read the same text once more.',
    [
      'let last: { readonly text: string; readonly matrix: Matrix } = { text, matrix: before }',
      '{ text, matrix: before }',
      '{}',
    ],
    [
      'if (from !== last.text) last = { text: from, matrix: parseMatrix(from, form) }',
      'from !== last.text',
      'true',
    ],
  ),
]

/** Mutants that no test can kill, each with the reason: they change nothing that a caller could notice. */
import { OF_ADMINISTRATION } from './administration-survivors.ts'
import { OF_CONTROL_PANEL } from './control-panel-survivors.ts'
import { OF_IDENTITY } from './identity-survivors.ts'
import { OF_MATRIX } from './matrix-survivors.ts'
import { OF_READERS } from './reader-survivors.ts'
import { SOME_TEXT, type Survivor, survivors } from './survivor.ts'
import { OF_USE_CASES } from './usecase-survivors.ts'

export const SURVIVORS: readonly Survivor[] = [
  ...OF_CONTROL_PANEL,
  ...OF_ADMINISTRATION,
  ...OF_IDENTITY,
  ...OF_MATRIX,
  ...OF_READERS,
  ...OF_USE_CASES,
  ...survivors(
    'engine/issuance.ts',
    'A fault is noted before, and a reading with faults has no values.',
    ["if (!scope.readable) return { account: '' }", "{ account: '' }", '{}'],
    ["if (!scope.readable) return { account: '' }", "''", SOME_TEXT],
    ["return { account: '' }", "{ account: '' }", '{}'],
    ["return { account: '' }", "''", SOME_TEXT],
    ["return ''", "''", SOME_TEXT],
  ),
  ...survivors('engine/credentials.ts', 'It only spares a look into the map, where the name is not either.', [
    'if ((this.#lengths & (1 << (name.length & 31))) === 0) return undefined',
    '(this.#lengths & (1 << (name.length & 31))) === 0',
    'false',
  ]),
  ...survivors(
    'engine/credentials.ts',
    'A value that begins with a space is malformed either way: no scheme has one.',
    ['const scheme = lowerCase(end < 0 ? value : value.slice(0, end))', 'end < 0', 'end <= 0'],
    ["if (end < 0) return fault('CREDENTIAL_MISSING')", 'end < 0', 'end <= 0'],
  ),
  ...survivors(
    'engine/credentials.ts',
    'It only spares the map: what comes after it says the same of one header.',
    ["if (found.length === 1) return found[0]?.value === ''", 'found.length === 1', 'false'],
    ["if (found.length === 1) return found[0]?.value === ''", 'found[0]?.value', 'found[0].value'],
  ),
  ...survivors(
    'engine/cells.ts',
    'The rule compares with the other values of the fact, and no other code sees it.',
    [
      "const conflict = (facts & PROSE) !== 0 ? 'prose' : (facts & TABLE) !== 0 ? 'table' : 'none'",
      "'table'",
      '""',
    ],
    ["...{ api: 'known', credential: 'verified', target: 'not_given' },", "'known'", '""'],
    ["...{ api: 'known', credential: 'verified', target: 'not_given' },", "'not_given'", '""'],
    ["table: (facts & ACCEPTED) === 0 ? 'rejects' : 'accepts',", "'rejects'", '""'],
  ),
  ...survivors('engine/cells.ts', 'Cells are asked about by their places, so the kind is there.', [
    'const [api, kind] = [apis[row]?.id as string, kinds[column]?.id]',
    'kinds[column]?.id',
    'kinds[column].id',
  ]),
  ...survivors('engine/meant.ts', 'It only spares the comparison: so many edits are needed at least.', [
    'if (Math.abs(each.length - name.length) > most) continue',
    'Math.abs(each.length - name.length) > most',
    'false',
  ]),
  ...survivors(
    'engine/situations.ts',
    'The place of the first is 0.',
    [
      'if (target === undefined || level === INVALID) return level + NOT_GIVEN',
      'level + NOT_GIVEN',
      'level - NOT_GIVEN',
    ],
    [
      "const INVALID = SCOPES.indexOf('invalid') * TARGETS.length",
      "SCOPES.indexOf('invalid') * TARGETS.length",
      "SCOPES.indexOf('invalid') / TARGETS.length",
    ],
  ),
  ...survivors(
    'engine/situations.ts',
    'A scope that is not there is invalid, and the line before has answered it.',
    [
      'if (levelOf(target) === INVALID || target.account !== scope?.account) return level + OTHER_ACCOUNT',
      'scope?.account',
      'scope.account',
    ],
  ),
  ...survivors(
    'engine/decide.ts',
    'The faults of credentials come after the other situations, so none is at 0.',
    ['if (situation < 0) return table.build(rowOf(table, api))', 'situation < 0', 'situation <= 0'],
  ),
  ...survivors('engine/decide.ts', 'It only spares two looks into maps, where no holder is undefined.', [
    'return holder === undefined ? 0 : (table.advised.get(column)?.get(holder) ?? 0)',
    'holder === undefined',
    'false',
  ]),
  ...survivors('engine/credentials.ts', 'It only spares to look for a scheme, where the header has none.', [
    'if (isBare && TOKEN.test(value) && (schemes.size === 1 || !schemes.has(lowerCase(value))))',
    'schemes.size === 1',
    'false',
  ]),
  ...survivors(
    'engine/table.ts',
    'A kind is known only where the API is, and the column of unknown kinds has none.',
    [
      'conflicts: joined((kind && api?.conflicts.get(kind.id)) ?? NONE, said?.conflicts ?? NONE),',
      'api?.conflicts',
      'api.conflicts',
    ],
    [
      "return REASONS.indexOf(reason) > REASONS.indexOf('UNKNOWN_TOKEN_KIND')",
      "REASONS.indexOf(reason) > REASONS.indexOf('UNKNOWN_TOKEN_KIND')",
      "REASONS.indexOf(reason) >= REASONS.indexOf('UNKNOWN_TOKEN_KIND')",
    ],
  ),
  ...survivors('engine/table.ts', 'It only spares a list with the same items.', [
    'return some.length === 0 ? others : Object.freeze([...some, ...others])',
    'some.length === 0',
    'false',
  ]),
  ...survivors(
    'engine/apis.ts',
    'The rule compares with the other values of the fact, and no other code sees it.',
    [
      "return [undefined, ...this.#kinds].map(() => this.#reasonsOf('unknown', 'unknown', 'rejects', NONE))",
      "'unknown'",
      '""',
    ],
    [
      "return [undefined, ...this.#kinds].map(() => this.#reasonsOf('unknown', 'unknown', 'rejects', NONE))",
      "'rejects'",
      '""',
    ],
    ["const table = accepts.includes(kind.id) ? 'accepts' : 'rejects'", "'rejects'", '""'],
    ["const reasons = this.#reasonsOf('known', kind.scopeLevel, table, contesting)", "'known'", '""'],
    ["const unknownKind = this.#reasonsOf('known', 'unknown', 'rejects', NONE)", "'known'", '""'],
    ["const unknownKind = this.#reasonsOf('known', 'unknown', 'rejects', NONE)", "'rejects'", '""'],
    ["const conflict = contesting.length === 0 ? 'none' : reversed ? 'prose' : 'table'", "'table'", '""'],
  ),
  ...survivors('engine/large.ts', 'There are twenty places for each cell, so there are never just so many.', [
    'if (places > BUILT_AHEAD_MAX) return false',
    'places > BUILT_AHEAD_MAX',
    'places >= BUILT_AHEAD_MAX',
  ]),
  ...survivors('engine/conflicts.ts', 'The conflicts are those of the matrix, in its order.', [
    'conflict.kinds.includes(kind) && matrix.conflicts[index]?.statements.some((id) => about.has(id)),',
    'matrix.conflicts[index]?.statements',
    'matrix.conflicts[index].statements',
  ]),
  ...survivors(
    'engine/digest.ts',
    'A word of the array has 32 bits: whole numbers beside the fraction fall away.',
    [
      'return Math.floor((real - Math.floor(real)) * 2 ** 32)',
      'real - Math.floor(real)',
      'real + Math.floor(real)',
    ],
  ),
  ...survivors(
    'engine/digest.ts',
    'A typed array ignores what is written behind its end.',
    ['for (let candidate = 2, found = 0; found < count; candidate++) {', 'found < count', 'found <= count'],
    ['for (let t = 16; t < 64; t++) {', 't < 64', 't <= 64'],
    [
      'for (let i = 0; i < 8; i++) state[i] = (state[i] as number) + (worked[i] as number)',
      'i < 8',
      'i <= 8',
    ],
  ),
]

/**
 * Writes policy tests that hold a matrix as it is: every cell in both modes, and every reason. A change of
 * the matrix makes some of them fail, and those say in a review what has changed.
 */
import {
  type CompiledApi,
  type Engine,
  fieldValue,
  firstPlace,
  type Matrix,
  placeName,
  placesOf,
  type TokenKind,
  withArticle,
} from '../../engine/index.ts'
import type { Mode } from '../compare.ts'

export interface Characterisation {
  readonly matrix: Pick<Matrix, 'title'>
  readonly engines: Readonly<Record<Mode, Engine>>
  /** Where an editor finds the schema: a path or a URL. */
  readonly schema?: string | undefined
}

/** The text of the file, in YAML. */
export function characterise({ matrix, engines, schema }: Characterisation): string {
  const writer = new Writer(engines)
  return `${[
    ...(schema === undefined ? [] : [`# yaml-language-server: $schema=${schema}`]),
    '# Written by `portcullis matrix test --init`. It holds the matrix as it was; change it with the matrix.',
    `title: ${textOf(matrix.title)}`,
    'mode: both',
    '',
    ...writer.tokens(),
    'tests:',
    ...writer.table(),
    ...writer.contested(),
    ...writer.scopes(),
    ...writer.faults(),
  ].join('\n')}\n`
}

class Writer {
  readonly #lenient: Engine
  readonly #strict: Engine
  readonly #kinds: readonly TokenKind[]
  /** The first kind and the first API: a matrix has one of each at least. */
  readonly #kind: TokenKind
  readonly #api: string
  /** APIs without a contested cell, and with one. */
  readonly #settled: readonly string[]
  readonly #doubtful: readonly string[]

  constructor({ lenient, strict }: Readonly<Record<Mode, Engine>>) {
    this.#lenient = lenient
    this.#strict = strict
    this.#kinds = [...lenient.tokenKinds.values()]
    this.#kind = this.#kinds[0] as TokenKind
    this.#api = [...lenient.apis.keys()][0] as string
    const apis = [...lenient.apis.values()]
    this.#settled = apis.filter(({ contested }) => contested.length === 0).map(({ id }) => id)
    this.#doubtful = apis.filter(({ contested }) => contested.length > 0).map(({ id }) => id)
  }

  /** The tokens that the values of the headers below stand for. */
  tokens(): string[] {
    const faults = ['expired', 'revoked'].map(
      (fault) => `  ${fault}: { fault: CREDENTIAL_${fault.toUpperCase()} }`,
    )
    const misplaced = this.#misplaced()
    return [
      '# The tokens for which the values of credential headers below stand.',
      'tokens:',
      ...faults,
      '  elsewhere: { fault: ADDRESS_NOT_ALLOWED }',
      ...(misplaced === undefined ? [] : [`  misplaced: { kind: ${idOf(misplaced.kind.id)} }`]),
      '',
    ]
  }

  /** A test for each set of kinds that opens an API, with all APIs that it opens. */
  table(): string[] {
    return [
      '  # The kinds that open each API; all other kinds are denied.',
      ...this.#groups(this.#lenient, this.#settled).flatMap(([accepted, apis]) =>
        test({ apis: listOf(apis), accepted: listOf(accepted) }),
      ),
    ]
  }

  /** The same of the APIs that a conflict contests, mode by mode. */
  contested(): string[] {
    if (this.#doubtful.length === 0) return []
    const rowsOf = (engine: Engine, mode: Mode) =>
      this.#groups(engine, this.#doubtful).flatMap(([accepted, apis]) =>
        test({ mode, apis: listOf(apis), accepted: listOf(accepted) }),
      )
    return [
      '',
      '  # The source contradicts itself about these.',
      ...rowsOf(this.#lenient, 'lenient'),
      ...rowsOf(this.#strict, 'strict'),
      ...this.#contestedCells(),
    ]
  }

  /** The cells that strict mode denies because of a conflict alone. */
  #contestedCells(): string[] {
    const byKind = new Map<string, string[]>()
    for (const api of this.#doubtful)
      for (const { id } of this.#kinds)
        if (this.#strict.reasons(api, id).includes('CONTESTED'))
          byKind.set(id, [...(byKind.get(id) ?? []), api])
    return Array.from(byKind).flatMap(([kind, apis]) =>
      test({ mode: 'strict', apis: listOf(apis), kind: idOf(kind), reason: 'CONTESTED' }),
    )
  }

  /** The scopes of tokens, by the first API that each kind opens. */
  scopes(): string[] {
    return ['', '  # The scopes of tokens.', ...this.#kinds.flatMap((kind) => this.#scopesOf(kind))]
  }

  #scopesOf({ id, title, scopeLevel }: TokenKind): string[] {
    const opened = [...this.#settled, ...this.#doubtful].find((api) => this.#opens(api, id))
    // In strict mode a contested cell is denied before the target is looked at.
    const mode = this.#doubtful.includes(opened as string) ? { mode: 'lenient' } : {}
    const ask = (name: string, fields: Readonly<Record<string, string>>) =>
      test({
        name: textOf(`${withArticle(title)} ${name}`),
        ...mode,
        api: idOf(opened ?? this.#api),
        kind: idOf(id),
        ...fields,
      })
    const ofAccount = scopeLevel === 'account'
    const [scope, wrong] = ofAccount ? [ACCOUNT, PROJECT] : [PROJECT, ACCOUNT]
    return [
      ...(opened === undefined
        ? []
        : [
            ...(ofAccount
              ? ask('opens every project', { scope, target: OTHER_PROJECT, reason: 'ALLOWED' })
              : ask('opens no other project', { scope, target: OTHER_PROJECT, reason: 'PROJECT_MISMATCH' })),
            ...ask('opens no other account', { scope, target: OTHER_ACCOUNT, reason: 'ACCOUNT_MISMATCH' }),
          ]),
      ...ask(`is bound to ${withArticle(scopeLevel)}`, { scope: wrong, reason: 'INVALID_SCOPE' }),
    ]
  }

  /** The faults of a credential, whatever the matrix says. */
  faults(): string[] {
    const [api, kind] = [this.#api, this.#kind]
    const sent = (values: readonly string[], reason: string, sentAs: TokenKind = kind) => {
      const place = firstPlace(sentAs)
      const beside = place.with === undefined ? '' : `, ${place.with}: any`
      const [only = '', ...more] = values.map((value) => fieldValue(place, value))
      const value = more.length === 0 ? only : `[${[only, ...more].join(', ')}]`
      return row({
        api: idOf(api),
        headers: only === '' ? '{}' : `{ ${place.header}: ${value}${beside} }`,
        reason,
      })
    }
    const misplaced = this.#misplaced()
    return [
      '',
      '  # Faults of a credential.',
      sent([], this.#lenient.deny(api, 'CREDENTIAL_MISSING').reason),
      sent(['expired', 'revoked'], 'CREDENTIAL_AMBIGUOUS'),
      sent(['two words'], 'CREDENTIAL_MALFORMED'),
      ...(misplaced === undefined ? [] : [sent(['misplaced'], 'WRONG_HEADER', misplaced.sentAs)]),
      sent(['unheard-of'], 'CREDENTIAL_INVALID'),
      sent(['expired'], 'CREDENTIAL_EXPIRED'),
      sent(['revoked'], 'CREDENTIAL_REVOKED'),
      sent(['elsewhere'], 'ADDRESS_NOT_ALLOWED'),
      row({ api: this.#unknown(this.#lenient.apis), kind: idOf(kind.id), reason: 'UNKNOWN_API' }),
      row({ api: idOf(api), kind: this.#unknown(this.#lenient.tokenKinds), reason: 'UNKNOWN_TOKEN_KIND' }),
    ]
  }

  #opens(api: string, kind: string): boolean {
    return this.#lenient.apis.get(api)?.accepted.some((each) => each.kind === kind) === true
  }

  /** A kind, and one whose tokens travel in another place. */
  #misplaced(): { readonly kind: TokenKind; readonly sentAs: TokenKind } | undefined {
    const kind = this.#kind
    const sentAs = this.#kinds.find((other) => !isIn(other, kind))
    return sentAs && { kind, sentAs }
  }

  /** An id that is not among these. */
  #unknown(ids: ReadonlyMap<string, unknown>): string {
    let id = 'no-such-id'
    while (ids.has(id)) id += '-either'
    return id
  }

  /** The APIs by the kinds that open them; those that most open first. */
  #groups(engine: Engine, apis: readonly string[]): [accepted: string[], apis: string[]][] {
    const groups = new Map<string, [string[], string[]]>()
    for (const api of apis) {
      const accepted = (engine.apis.get(api) as CompiledApi).accepted.map(({ kind }) => kind)
      const group = groups.get(accepted.join()) ?? [accepted, []]
      groups.set(accepted.join(), group)
      group[1].push(api)
    }
    return [...groups.values()]
  }
}

const ACCOUNT = '{ account: "1" }'
const PROJECT = '{ account: "1", project: one }'
const OTHER_PROJECT = '{ account: "1", project: two }'
const OTHER_ACCOUNT = '{ account: "2", project: one }'

/** Whether tokens of one kind may be where a program sends those of the other. */
function isIn(kind: TokenKind, other: TokenKind): boolean {
  return placesOf(other)
    .map(placeName)
    .includes(placeName(firstPlace(kind)))
}

/** A test of one field a line. */
function test(fields: Readonly<Record<string, string>>): string[] {
  return Object.entries(fields).map(
    ([name, value], index) => `  ${index === 0 ? '-' : ' '} ${name}: ${value}`,
  )
}

/** A test on one line. */
function row(fields: Readonly<Record<string, string>>): string {
  return `  - { ${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')} }`
}

const WIDTH = 100

/** A list of ids, wrapped. */
function listOf(ids: readonly string[]): string {
  const lines: string[] = []
  let line = '['
  for (const [index, id] of ids.entries()) {
    const item = `${idOf(id)}${index < ids.length - 1 ? ', ' : ''}`
    if (line.length + item.length > WIDTH - '    accepted: '.length) {
      lines.push(line.trimEnd())
      line = '       '
    }
    line += item
  }
  return [...lines, `${line}]`].join('\n')
}

/** Words that some reader of YAML takes for something else than a text. */
const RESERVED = /^(?:null|true|false|yes|no|on|off|y|n)$/

/** An id, in quotes where YAML would read it otherwise. The schema of a matrix allows no other characters. */
function idOf(id: string): string {
  return RESERVED.test(id) ? JSON.stringify(id) : id
}

/** A text, in quotes where YAML would read it otherwise. */
function textOf(text: string): string {
  return /^[A-Za-z][\w ().,-]*[\w).]$/.test(text) && !RESERVED.test(text.toLowerCase())
    ? text
    : JSON.stringify(text)
}

/** Whether the ids of a matrix are unique and known: a misspelt id must not become a silent denial. */

import { finish, type Steps } from './large.ts'
import type { Matrix, MatrixInput, Place, TokenKind } from './matrix.ts'
import { withArticle } from './messages.ts'
import { carriageOf, placeName } from './places.ts'

/** A fault of a matrix. */
export interface MatrixProblem {
  /** Where, for example `apis[3].accepts[0]`. */
  readonly path: string
  /** The expected value there; lower case, no final period. */
  readonly expected: string
}

/** The matrix with an empty list for each list that may be absent. */
export function completeMatrix<KindId extends string, ApiId extends string>(
  matrix: MatrixInput<KindId, ApiId>,
): Matrix<KindId, ApiId> {
  return { ...matrix, statements: matrix.statements ?? [], conflicts: matrix.conflicts ?? [] }
}

/**
 * Everything that keeps a matrix from being compiled: a list that is missing, an id that is taken, an unknown
 * id.
 */
export function matrixProblems(input: MatrixInput): MatrixProblem[] {
  return finish(problemsInSteps(input))
}

/** The same in steps. */
export function* problemsInSteps(input: MatrixInput): Steps<MatrixProblem[]> {
  const missing = missingLists(input)
  if (missing.length > 0) return missing
  const matrix = completeMatrix(input)
  const problems: MatrixProblem[] = []
  const known: Readonly<Record<Reference['to'], ReadonlySet<string>>> = {
    'token kind': yield* idsInSteps(matrix, 'tokenKinds', problems),
    api: yield* idsInSteps(matrix, 'apis', problems),
    statement: yield* idsInSteps(matrix, 'statements', problems),
  }
  yield* idsInSteps(matrix, 'conflicts', problems)
  problems.push(...carriageProblems(matrix.tokenKinds))
  for (const { path, id, to } of referencesOf(matrix)) {
    if (!known[to].has(id))
      problems.push({ path, expected: `expected the id of ${withArticle(to)}; there is no ${to} \`${id}\`` })
    yield
  }
  return problems
}

/**
 * Headers that say something of a message, of its connection or of its way (RFC 9110 §7.6.1): proxies write
 * them, and clients do not look for a credential in them.
 */
const OTHER_HEADER =
  /^(?:baggage|cache-control|connection|date|dnt|expect|forwarded|host|keep-alive|origin|pragma|priority|range|referer|te|traceparent|tracestate|trailer|transfer-encoding|upgrade|upgrade-insecure-requests|user-agent|via|x-real-ip|x-request-id|x-correlation-id|x-original-url|accept|(?:accept|access-control|content|grpc|if|proxy|sec|x-b3|x-forwarded|x-portcullis)-.*)$/i

/** Why a header carries no credential; `undefined`: it may. */
function whyNotIn(header: string): string | undefined {
  if (/^(?:set-)?cookie2?$/i.test(header))
    return 'a browser sends cookies with every request that another site makes it send, so they do not say who means it'
  return OTHER_HEADER.test(header) ? 'this one says something of the message or its way' : undefined
}

/** A place, and where the matrix says it. */
interface SaidPlace extends Place {
  readonly at: string
  readonly kind: string
  readonly name: string
}

/** Where tokens travel: headers that cannot carry one, and places that do not distinguish kinds. */
function carriageProblems(kinds: readonly TokenKind[]): MatrixProblem[] {
  const problems: MatrixProblem[] = []
  const said: SaidPlace[] = []
  for (const [index, kind] of kinds.entries()) {
    const at = `tokenKinds[${index}]`
    const { header, scheme, prefix, places } = kind
    const isShort = [header, scheme, prefix].some((part) => part !== undefined)
    if (isShort === (places !== undefined && places.length > 0) || (isShort && header === undefined)) {
      problems.push(
        isShort && header !== undefined
          ? {
              path: `${at}.places`,
              expected: 'expected no list of places beside `header`, `scheme` and `prefix`',
            }
          : {
              path: `${at}.header`,
              expected: 'expected the header that its tokens travel in, or a list of `places`',
            },
      )
      continue
    }
    const all = places?.map((place, nth) => [place, `${at}.places[${nth}]`] as const)
    const first = places?.[0]
    if (kind.obtained.by !== 'elsewhere' && (first?.basic ?? first?.with) !== undefined)
      problems.push({
        path: `${at}.places[0]`,
        expected:
          'expected first a place without `basic` and `with`: whoever obtains a token here gets the header for it',
      })
    for (const [place, path] of all ?? [[{ header: String(header), scheme, prefix }, at] as const]) {
      const one = { ...place, at: path, kind: kind.id, name: placeName(place) }
      problems.push(...placeProblems(one, said))
      said.push(one)
    }
  }
  // Some come before the kind that they do not go with.
  for (const place of said) {
    const other = said.find(({ header }) => isSameText(header, place.with))
    if (place.with !== undefined && other !== undefined)
      problems.push({
        path: `${place.at}.with`,
        expected: `expected a header that carries no token; those of \`${other.kind}\` travel in this one`,
      })
  }
  return problems
}

/** @param earlier the places before it */
function placeProblems(place: SaidPlace, earlier: readonly SaidPlace[]): MatrixProblem[] {
  const { at, kind, name, header, scheme, prefix, basic } = place
  const expect = (property: string, expected: string) => [
    { path: `${at}.${property}`, expected: `expected ${expected}` },
  ]
  for (const property of ['header', 'with'] as const) {
    const why = whyNotIn(place[property] ?? '')
    if (why !== undefined) return expect(property, `a header that can carry a credential: ${why}`)
  }
  if (basic !== undefined && scheme !== undefined)
    return expect('scheme', 'none beside `basic`, whose scheme is Basic')
  const same = earlier.filter((other) => other.name === name)
  if (same.some((other) => other.kind === kind))
    return expect('header', `each place of a kind once; \`${carriageOf(place)}\` is there already`)
  const [first] = same
  if (first !== undefined && !isSameText(first.with, place.with))
    return expect('with', `the same as for \`${first.kind}\`, which travels in the same place`)
  const whole = isSameText(scheme, 'Basic')
  const mixed = earlier.find(
    (other) =>
      isSameText(other.header, header) &&
      (whole ? other.basic !== undefined : basic !== undefined && isSameText(other.scheme, 'Basic')),
  )
  if (mixed !== undefined)
    return expect(
      'basic',
      `it of all places with Basic in \`${header}\`, or of none, as with \`${mixed.kind}\``,
    )
  const like = same.find((other) => isNested(other.prefix, prefix))
  if (like === undefined) return []
  return expect(
    'prefix',
    `a prefix that distinguishes its tokens from those of \`${like.kind}\`, which travel in the same header: neither may be the beginning of the other`,
  )
}

/** Whether one is the beginning of the other. Kinds may have the same one, or none. */
function isNested(one: string | undefined, other: string | undefined): boolean {
  if (!one || !other || one === other) return false
  return one.startsWith(other) || other.startsWith(one)
}

/** Whatever their case. Absent is the same as empty. */
const isSameText = (one: string | undefined, other: string | undefined): boolean =>
  String(one ?? '').toLowerCase() === String(other ?? '').toLowerCase()

/** The ids of a part. One that is taken is a problem. */
function* idsInSteps(
  matrix: Matrix,
  part: 'tokenKinds' | 'apis' | 'statements' | 'conflicts',
  problems: MatrixProblem[],
): Steps<ReadonlySet<string>> {
  const ids = new Set<string>()
  for (const [index, { id }] of matrix[part].entries()) {
    if (ids.has(id))
      problems.push({ path: `${part}[${index}].id`, expected: `expected a unique id, \`${id}\` is taken` })
    ids.add(id)
    yield
  }
  return ids
}

/** A caller without types may bring anything. */
function missingLists(matrix: Partial<MatrixInput> | null | undefined): MatrixProblem[] {
  const expected = 'expected a list, as in a matrix from `loadMatrix` of `@portcullis/matrix`'
  const required = (['tokenKinds', 'apis'] as const).filter((part) => !Array.isArray(matrix?.[part]))
  const optional = (['statements', 'conflicts'] as const).filter(
    (part) => matrix?.[part] !== undefined && !Array.isArray(matrix[part]),
  )
  return [...required, ...optional].map((path) => ({ path, expected }))
}

/** An id that stands for a row. */
interface Reference {
  readonly path: string
  readonly id: string
  readonly to: 'token kind' | 'api' | 'statement'
}

function* referencesOf({ apis, statements, conflicts }: Matrix): Generator<Reference> {
  for (const [index, { accepts, notes }] of apis.entries()) {
    yield* listed(`apis[${index}].accepts`, accepts, 'token kind')
    for (const id in notes) yield { path: `apis[${index}].notes.${id}`, id, to: 'token kind' }
  }
  for (const [index, { claim }] of statements.entries()) {
    const at = `statements[${index}].claim`
    if ('kind' in claim) yield { path: `${at}.kind`, id: claim.kind, to: 'token kind' }
    if ('api' in claim) yield { path: `${at}.api`, id: claim.api, to: 'api' }
    if ('kinds' in claim) yield* listed(`${at}.kinds`, claim.kinds, 'token kind')
    if ('apis' in claim) yield* listed(`${at}.apis`, claim.apis, 'api')
    if ('accepts' in claim) yield* listed(`${at}.accepts`, claim.accepts, 'token kind')
  }
  for (const [index, conflict] of conflicts.entries()) {
    const at = `conflicts[${index}]`
    yield* listed(`${at}.apis`, conflict.apis, 'api')
    yield* listed(`${at}.kinds`, conflict.kinds, 'token kind')
    yield* listed(`${at}.statements`, conflict.statements, 'statement')
    for (const [cell, { api, kind }] of conflict.cells.entries()) {
      yield { path: `${at}.cells[${cell}].api`, id: api, to: 'api' }
      yield { path: `${at}.cells[${cell}].kind`, id: kind, to: 'token kind' }
    }
  }
}

function* listed(path: string, ids: readonly string[], to: Reference['to']): Generator<Reference> {
  for (const [index, id] of ids.entries()) yield { path: `${path}[${index}]`, id, to }
}

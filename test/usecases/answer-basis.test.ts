/** The basis of answers about tokens: by its name, followers know whether they may still reuse them. */
import { expect, test } from 'vitest'
import type { TokenKind } from '../../engine/index.ts'
import { compile, type Engine } from '../../engine/index.ts'
import { answerBasisOf, basisOf } from '../../sidecar/usecases/answer-basis.ts'
import { smallMatrix, type Writable } from '../support/matrices/small-matrix.ts'

/** The small matrix, with a kind that is changed. */
function engineWith(change: Partial<Writable<TokenKind>> = {}): Engine {
  const { tokenKinds, ...matrix } = smallMatrix()
  return compile<string, string>({
    ...matrix,
    tokenKinds: tokenKinds.map((kind, index) => (index === 0 ? { ...kind, ...change } : kind)),
  })
}
const KEYS = ['key-1', 'key-2']
const nameWith = (change: Partial<Writable<TokenKind>>, trusted: readonly string[] = KEYS) =>
  answerBasisOf(() => trusted)(engineWith(change)).name

test('it is the same object until the keys or the engine change', () => {
  let trusted: readonly string[] = KEYS
  const basis = answerBasisOf(() => trusted)
  const [one, other] = [engineWith(), engineWith({ prefix: 'day_' })]
  const first = basis(one)
  expect(first).toMatchObject({ trusted: KEYS, name: expect.stringMatching(/^[\w-]{43}$/) })
  expect(basis(one)).toBe(first)
  trusted = ['key-2']
  const later = basis(one)
  expect(later).toEqual(basisOf(['key-2'], first.kinds))
  expect(basis(one)).toBe(later)
  const elsewhere = basis(other)
  expect(elsewhere.kinds).not.toBe(first.kinds)
  expect(basis(other)).toBe(elsewhere)
  expect(basis(one)).toEqual(later)
})

test.each<[what: string, change: Partial<Writable<TokenKind>>, isOther: boolean]>([
  ['the permissions that it asks for', { permissionScopes: ['account', 'projects'] }, true],
  ['the header', { header: 'X-Other' }, true],
  ['the scheme', { scheme: 'Bearer' }, true],
  ['the beginning of its tokens', { prefix: 'day_' }, true],
  ['the title, which decides nothing', { title: 'another' }, false],
])('a kind that differs in %s', (_what, change, isOther) => {
  expect(nameWith(change) !== nameWith({})).toBe(isOther)
})

test('the order of the keys is not a part of the name, and each key is', () => {
  expect(nameWith({}, ['key-2', 'key-1'])).toBe(nameWith({}))
  expect(nameWith({}, ['key-1'])).not.toBe(nameWith({}))
  expect(nameWith({}, ['key-1', 'key-2', 'key-3'])).not.toBe(nameWith({}))
})

test('the id of a kind is a part of the name', () => {
  const { tokenKinds, apis, title } = smallMatrix()
  const [pass, key] = tokenKinds
  if (pass === undefined || key === undefined) throw new TypeError('the kinds are not there')
  const rows = apis.map((row) => ({ ...row, accepts: [key.id] }))
  const [one, other] = [pass, { ...pass, id: 'week_pass' }].map((kind) =>
    answerBasisOf(() => KEYS)(compile<string, string>({ title, tokenKinds: [kind, key], apis: rows })),
  )
  expect(one?.name).not.toBe(other?.name)
})

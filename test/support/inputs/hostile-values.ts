/** Values that a caller without types, or with bad intent, can hand over. */
import * as fc from 'fast-check'

const boom = (): never => {
  throw new Error('a hostile trap')
}

/** A proxy whose every trap throws. */
export const throwingProxy = (): object =>
  new Proxy(
    {},
    {
      get: boom,
      has: boom,
      ownKeys: boom,
      getOwnPropertyDescriptor: boom,
      getPrototypeOf: boom,
      isExtensible: boom,
      set: boom,
      deleteProperty: boom,
      defineProperty: boom,
      setPrototypeOf: boom,
      preventExtensions: boom,
    },
  )

const revokedProxy = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

/** An object whose members of these names throw when they are read. */
export function throwingGetters(...names: string[]): object {
  const value = {}
  for (const name of names) Object.defineProperty(value, name, { get: boom, enumerable: true })
  return value
}

const makers: readonly (() => unknown)[] = [
  throwingProxy,
  revokedProxy,
  () => throwingGetters('api', 'kind', 'scope', 'target', 'holder'),
  () => throwingGetters('account', 'project'),
  () => throwingGetters('auth', 'identity', 'password', 'domain', 'name', 'methods'),
  () => throwingGetters('length', '0', '1'),
  () => Object.create(null),
  () => Symbol('a symbol'),
  () => ({ toString: boom, valueOf: boom, [Symbol.toPrimitive]: boom }),
  () => ({ [Symbol.iterator]: boom }),
  () => ({ [Symbol.iterator]: () => ({ next: boom }) }),
  () => ({
    *[Symbol.iterator]() {
      yield* [null, undefined, 1, 'text', [], [null, null]]
    },
  }),
  () => boom,
  () => 10n,
  () => JSON.parse('{"__proto__": {"auth": 1, "account": "123456"}}'),
]

/** Makes a value. Generated instead of the value, because fast-check looks into what it generates. */
export type Maker = () => unknown

export const hostileMakers: fc.Arbitrary<Maker> = fc.constantFrom(...makers)

/** Makers of any value whatever. */
export const makersOfAnything: fc.Arbitrary<Maker> = fc.oneof(
  // To prepare them takes half a second, which is spent where they are drawn.
  fc.constant(undefined).chain(() => {
    anything ??= fc
      .anything({
        withBigInt: true,
        withBoxedValues: true,
        withDate: true,
        withMap: true,
        withNullPrototype: true,
        withObjectString: true,
        withSet: true,
        withSparseArray: true,
        withTypedArray: true,
        withUnicodeString: true,
      })
      .map(makerOf)
    return anything
  }),
  hostileMakers,
)

let anything: fc.Arbitrary<Maker> | undefined

/** A maker of one value, which a failing property prints. */
export function makerOf(value: unknown): Maker {
  return Object.assign(() => value, { [fc.toStringMethod]: () => fc.stringify(value) })
}

/** Makers of objects with these members, each made anew. */
export function makersOfRecords(members: Record<string, fc.Arbitrary<Maker>>): fc.Arbitrary<Maker> {
  return fc.record(members).map((drawn) => {
    const parts = Object.entries(drawn)
    const make = () => Object.fromEntries(parts.map(([name, part]) => [name, part()]))
    return Object.assign(make, { [fc.toStringMethod]: () => fc.stringify(drawn) })
  })
}

/** Names that every JavaScript object answers to. */
export const INHERITED_NAMES: readonly string[] = [
  ...new Set([
    ...Object.getOwnPropertyNames(Object.prototype),
    ...Object.getOwnPropertyNames(Map.prototype),
    'prototype',
  ]),
]

/** The names of a client certificate, as Node writes them, and callers who are known by them. */
import { describe, expect, test } from 'vitest'
import { type CertificateName, namesOfCertificate } from '../../sidecar/base/certificate-name.ts'
import { type Caller, Callers } from '../../sidecar/usecases/callers.ts'

test.each<[claim: string, text: string | undefined, names: string[]]>([
  ['no names', undefined, []],
  ['an empty text', '', []],
  ['a DNS name', 'DNS:worker.example', ['dns:worker.example']],
  ['a DNS name in capitals', 'DNS:WORKER.Example', ['dns:worker.example']],
  ['a SPIFFE ID', 'URI:spiffe://example/ns/a/sa/b', ['uri:spiffe://example/ns/a/sa/b']],
  ['a URI in capitals, which stays as it is', 'URI:spiffe://example/A', ['uri:spiffe://example/A']],
  [
    'several',
    'DNS:a.example, IP Address:127.0.0.1, URI:spiffe://example/a, email:a@b.example, DNS:b.example',
    ['dns:a.example', 'uri:spiffe://example/a', 'dns:b.example'],
  ],
  ['the same twice', 'DNS:a.example, DNS:A.example', ['dns:a.example']],
  ['a wildcard', 'DNS:*.example', []],
  ['a name with a final dot', 'DNS:a.example.', []],
  ['an empty name', 'DNS:, DNS:a.example', ['dns:a.example']],
  ['a quoted URI with an entry in it', 'URI:"http://a, DNS:admin.example", DNS:b.example', ['dns:b.example']],
  [
    'a quoted URI with a quote in it',
    'URI:"http://a\\", DNS:admin.example, \\"", DNS:b.example',
    ['dns:b.example'],
  ],
  ['a quoted URI as Node writes it', 'URI:"http://a\\u002c DNS:admin.example"', []],
  ['a quoted DNS name', 'DNS:"admin.example"', []],
  [
    'a quoted name of another type',
    'othername: "UPN:a, DNS:admin.example", DNS:b.example',
    ['dns:b.example'],
  ],
  ['a directory name', 'DirName:"CN = a, DNS:admin.example"', []],
  ['a type that is not supported', 'othername:<unsupported>, DNS:a.example', ['dns:a.example']],
  ['a quote that never ends', 'DNS:a.example, URI:"http://a, DNS:admin.example', []],
  ['text after a quoted value', 'URI:"a"DNS:admin.example, DNS:b.example', []],
  ['an apostrophe', "URI:'http://a, DNS:admin.example'", []],
  ['a backslash', 'URI:http://a\\, DNS:admin.example', []],
  ['no type', 'admin.example', []],
  ['a name of a host that is an address', 'DNS:admin.example\u0000.evil.example', []],
])('%s', (_claim, text, names) => {
  expect(namesOfCertificate(text)).toEqual(names)
})

describe('a caller who is known by a certificate', () => {
  const NONE = { everything: false, revoke: false, read: false, follow: false, administer: new Set<string>() }
  const caller = (name: string, expiresAtMs?: number): Caller => ({
    name,
    tokenSha256: undefined,
    certificateName: `dns:${name}.example`,
    profiles: new Set(),
    rights: NONE,
    expiresAtMs,
  })
  const shown = (...names: string[]) => ({
    authorization: [],
    iamToken: [],
    certificateNames: names.map((name): CertificateName => `dns:${name}.example`),
  })
  let nowMs = 0
  const callers = () => new Callers([caller('a'), caller('b'), caller('late', 10)], () => nowMs)

  test('is found by one of several names, and confirmed by the same names', () => {
    const known = callers()
    const found = known.find(shown('other', 'a'))
    expect(found?.name).toBe('a')
    if (found === undefined) return
    known.replace([{ ...caller('a'), rights: { ...NONE, read: true } }])
    expect(known.confirm(found).rights.read).toBe(true)
    known.replace([caller('b')])
    expect(() => known.confirm(found)).toThrow(/^the client certificate has no name of a caller/)
  })

  test('names no caller if it is unknown, and is ambiguous with the name of another caller, expired or not', () => {
    nowMs = 10
    expect(callers().find(shown('other'))).toBeUndefined()
    expect(callers().find(shown('late'))).toBeUndefined()
    for (const other of ['b', 'late'])
      expect(() => callers().find(shown('a', other))).toThrow(/names of several callers/)
  })

  test('does not count where the call presents another credential', () => {
    expect(callers().find({ ...shown('a'), iamToken: ['token'] })).toBeUndefined()
    expect(() => callers().find({ ...shown('a'), authorization: ['Bearer token'] })).toThrow(
      /^the caller token is unknown/,
    )
  })
})

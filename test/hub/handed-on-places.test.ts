/** The place where a forwarded call counts as made, wherever client, sidecar and hub are. */
import { expect, test } from 'vitest'
import { type ForwardedFrom, forwardedText } from '../../sidecar/base/forwarded-header.ts'
import type { CallContext, ClientConnection, Method } from '../../sidecar/contract/call.ts'
import { withHandedOn } from '../../sidecar/contract/handed-on.ts'
import { nameOfConnection, presentedIn } from '../../sidecar/contract/handler.ts'
import { Callers } from '../../sidecar/usecases/callers.ts'
import type { Admitting } from '../../sidecar/usecases/capabilities.ts'
import type { PresentedCredentials } from '../../sidecar/usecases/requester.ts'

const REVOKE = '/portcullis.v1.AuthorizationService/Revoke'
const CERTIFICATE = 'dns:host.example' as never

const none = { everything: false, revoke: false, read: false, follow: false, administer: new Set<string>() }
const callers = new Callers([
  {
    ...{ name: 'host', tokenSha256: undefined, certificateName: CERTIFICATE, profiles: new Set<string>() },
    ...{ rights: { ...none, follow: true }, expiresAtMs: undefined },
  },
])
const services = { callers, trace: { record: () => {} } } as unknown as Admitting

/** The caller that a handler of the hub sees in a call that a host forwards. */
function seenOf(by: ClientConnection, from: ForwardedFrom, reachable = true) {
  let seen: CallContext | undefined
  const method: Method = {
    type: 'unary',
    handle: (request, context) => {
      seen = context
      return request
    },
  }
  const served = withHandedOn(new Map([[REVOKE, method]]), services, reachable).get(REVOKE)
  const context: CallContext = {
    connection: by,
    metadata: (name) => (name === 'x-portcullis-forwarded' ? [forwardedText(from)] : []),
  }
  const ask = () => {
    if (served?.type === 'unary') served.handle(Buffer.alloc(0), context)
    return seen as CallContext
  }
  return ask
}

const HOST = '198.51.100.7'
const at = (address: ClientConnection['address']): ClientConnection => ({
  ...{ address, certificateNames: [CERTIFICATE] },
})
const from = (address: ForwardedFrom['address'], vouched = true): ForwardedFrom => ({
  ...{ address, protocol: 'grpc', connection: 'c 1', vouched },
})
type Seen = [address: PresentedCredentials['from']['address'], client: PresentedCredentials['clientAddress']]

test.each<[claim: string, by: ClientConnection, from: ForwardedFrom, seen: Seen]>([
  ['a client elsewhere', at(HOST), from('192.0.2.1'), ['192.0.2.1', '192.0.2.1']],
  ['a client on the machine of the host', at(HOST), from('127.0.0.1'), [HOST, HOST]],
  ['a client on a Unix socket of the host', at(HOST), from('unix socket'), [HOST, HOST]],
  ['a client without an address', at(HOST), from('unknown'), ['unknown', undefined]],
  ['a host that does not verify', at(HOST), from('192.0.2.1', false), ['192.0.2.1', undefined]],
  ['a host on the machine of the hub', at('127.0.0.1'), from('127.0.0.2'), ['127.0.0.2', '127.0.0.2']],
  ['and its Unix socket', at('::1'), from('unix socket'), ['::1', '::1']],
  ['a host that has gone', at(undefined), from('127.0.0.1'), ['unknown', undefined]],
])('%s', (_claim, by, forwarded, seen) => {
  const { from: found, clientAddress } = presentedIn(seenOf(by, forwarded)(), true)
  expect([found.address, clientAddress]).toEqual(seen)
})

test('without a certificate no host is believed', () => {
  const { from: found, clientAddress } = presentedIn(
    seenOf({ ...at(HOST), certificateNames: [] }, from('192.0.2.1'))(),
    true,
  )
  expect([found.address, clientAddress]).toEqual([HOST, undefined])
})

test('calls of one client have one connection, and those of others have their own', () => {
  const by = at(HOST)
  const one = seenOf(by, from('192.0.2.1'))
  const names = [one(), one()].map(nameOfConnection)
  expect(names[0]).toBe(names[1])
  expect(one().connection).toBe(one().connection)
  const others = [seenOf(by, { ...from('192.0.2.1'), connection: 'c 2' }), seenOf(by, from('192.0.2.2'))].map(
    (ask) => nameOfConnection(ask()),
  )
  expect(new Set([...names, ...others, nameOfConnection({ connection: by })]).size).toBe(4)
})

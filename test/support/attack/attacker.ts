/**
 * The program of an attacker: it attacks the sidecar with one of the attacks until its input ends, then
 * prints what came of it. It runs with a lower priority, so that on few processors it does not take the time
 * of the neighbour who is measured.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { ChannelCredentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import type { CheckRequest, IssueRequest } from '../../../proto/gen/portcullis/v1/authorization.ts'
import { AuthorizationStub, DirectoryStub } from '../contract/stubs.ts'
import { reportAndEnd } from './attack-report.ts'
import { type Forgeries, forge } from './forger.ts'

/** The deed of an attacker. A row of a scenario. */
export type Attack =
  /**
   * Logins, a number of them in flight at any time. Each password is another one of the form that Portcullis
   * makes, or the one given.
   */
  | {
      readonly type: 'logins'
      readonly inFlight: number
      readonly account: string
      /** Left out: another name each time. */
      readonly userName?: string
      readonly password?: string
      /** Whether each loop has a separate connection. */
      readonly ownConnections?: boolean
    }
  /** A control panel user reissues their token for a project, several at once, again and again. */
  | {
      readonly type: 'reissues'
      readonly atOnce: number
      readonly account: string
      readonly userName: string
      readonly project: string
      readonly iamToken: string
    }
  /** A user revokes tokens, several at any time. When all are revoked, it begins again. */
  | {
      readonly type: 'revocations'
      readonly inFlight: number
      /** JSON with the values of the tokens. An argument would be too long. */
      readonly tokensFile: string
      /** Of the user; left out: the holder of a token may end it. */
      readonly iamToken?: string
    }
  /**
   * Checks that are allowed, on several connections. Each of them is as long as it may be, or compressed, or
   * has a long header field.
   */
  | {
      readonly type: 'checks'
      readonly connections: number
      readonly inFlight: number
      readonly long: 'message' | 'compressed message' | 'metadata'
    }
  | Forgeries

/** The results of an attack: how many calls ended with which status and reason. */
export type Outcome = Readonly<Record<string, number>>

const { address, attack } = JSON.parse(process.argv[2] ?? '') as { address: string; attack: Attack }
setPriority(5)
const counts: Record<string, number> = {}
let over = false
let answers = 0
/** After this many answers the attack is under way. */
const ANSWERS_FIRST = 5
process.stdin.resume().on('end', () => {
  over = true
  reportAndEnd(counts)
})

/** Counts how a call ended. */
function count(how: string): void {
  if (++answers === ANSWERS_FIRST) process.stdout.write('attacking\n')
  counts[how] = (counts[how] ?? 0) + 1
}

/** Makes one call, and counts how it ended. */
function counted(call: (done: (error: ServiceError | null) => void) => void): Promise<void> {
  return new Promise((resolve) => {
    call((error) => {
      count(error === null ? 'OK' : `${error.code} ${error.details.replace(/\d+/g, 'N')}`)
      resolve()
    })
  })
}

function options() {
  return { 'grpc.use_local_subchannel_pool': 1 }
}

if (attack.type === 'forgeries') forge(address, attack, count)
else if (attack.type === 'logins') {
  const shared = new AuthorizationStub(address, ChannelCredentials.createInsecure(), options())
  for (let loop = 0; loop < attack.inFlight; loop++) {
    const client = attack.ownConnections
      ? new AuthorizationStub(address, ChannelCredentials.createInsecure(), options())
      : shared
    void (async () => {
      while (!over) {
        const { account, userName, password } = attack
        const request: IssueRequest = {
          requester: {
            $case: 'password',
            value: {
              account,
              userName: userName ?? randomBytes(8).toString('hex'),
              password: password ?? `x${randomBytes(18).toString('base64url').slice(1)}`,
            },
          },
          purpose: { $case: 'scope', value: { account, project: '' } },
          rejectedValue: '',
          place: '',
        }
        await counted((done) => client.issue(request, done))
      }
    })()
  }
} else if (attack.type === 'revocations') {
  const client = new AuthorizationStub(address, ChannelCredentials.createInsecure(), options())
  const tokens = JSON.parse(readFileSync(attack.tokensFile, 'utf8')) as string[]
  const metadata = new Metadata()
  if (attack.iamToken !== undefined) metadata.set('x-auth-token', attack.iamToken)
  let next = 0
  for (let loop = 0; loop < attack.inFlight; loop++)
    void (async () => {
      while (!over) {
        const value = tokens[next++ % tokens.length] ?? ''
        await counted((done) => client.revoke({ token: { $case: 'value', value } }, metadata, done))
      }
    })()
} else if (attack.type === 'checks') {
  const { connections, inFlight, long } = attack
  const more = long === 'compressed message' ? { 'grpc.default_compression_algorithm': 2 } : {}
  const metadata = new Metadata()
  // Node writes it in Huffman's code.
  if (long === 'metadata') metadata.set('x-long', 'e'.repeat(12_000))
  const request: CheckRequest = {
    api: 'balance',
    subject: { $case: 'token', value: { kind: 'static_token', scope: { account: '123456', project: '' } } },
    target: undefined,
    request: undefined,
    clientAddress: long === 'metadata' ? '' : ' '.repeat(3_500_000),
  }
  for (let connection = 0; connection < connections; connection++) {
    const client = new AuthorizationStub(address, ChannelCredentials.createInsecure(), {
      ...options(),
      ...more,
    })
    for (let loop = 0; loop < inFlight; loop++)
      void (async () => {
        while (!over) await counted((done) => client.check(request, metadata, done))
      })()
  }
} else {
  const client = new DirectoryStub(address, ChannelCredentials.createInsecure(), options())
  const metadata = new Metadata()
  metadata.set('x-auth-token', attack.iamToken)
  const request = { account: attack.account, name: attack.userName, project: attack.project }
  void (async () => {
    while (!over)
      await Promise.all(
        Array.from({ length: attack.atOnce }, () =>
          counted((done) => client.reissueControlPanelUserToken(request, metadata, done)),
        ),
      )
  })()
}

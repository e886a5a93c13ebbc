/**
 * Questions of chance from a seed: every API and some unknown ones, and every kind of credential in every
 * state. They are in any header, damaged and several at once, for targets that fit and do not, from anywhere.
 * The right answer follows from the parts that the stream itself made, and from the engine.
 */
import type { CredentialReason, Engine, Scope } from '../../engine/index.ts'
import { Dice } from '../support/inputs/random.ts'
import { ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'
import { printedApis } from '../support/matrices/oracle.ts'
import { ACCOUNT, OTHER_ACCOUNT } from '../support/sidecar/sidecar.ts'
import { decisionOf } from './answers.ts'
import type { EndedToken } from './ended-tokens.ts'
import type { People } from './people.ts'
import type { Header, Question } from './questions.ts'

const IAM_HEADER = 'X-Auth-Token'
const STATIC_HEADER = 'X-Token'

/** A credential, with what is true of it. */
interface Credential {
  readonly value: string
  /** Where it belongs. */
  readonly header: string
  readonly known?: NonNullable<Question['known']>
  readonly fault?: CredentialReason
  /** From where alone it is let in. */
  readonly from?: readonly string[]
  /** The fault that it has in the other header. */
  readonly elsewhere: 'WRONG_HEADER' | 'CREDENTIAL_INVALID'
}

const INSIDE = ['203.0.113.7', '::ffff:203.0.113.7']
const ADDRESSES = [undefined, undefined, ...INSIDE, '198.51.100.7', '2001:db8::1', '127.0.0.1']

const UNKNOWN_APIS = [
  'nosuch',
  'BALANCE',
  'constructor',
  '__proto__',
  'balance ',
  'a b/../é',
  'balance/x',
  '%2e',
]
const KINDS = [ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND, 'password', 'constructor', 'IAM_TOKEN', ' ']
const TARGETS: readonly Scope[] = [
  ...[{ account: ACCOUNT }, { account: OTHER_ACCOUNT }, { account: 'restricted' }, { account: 'nobody' }],
  ...['alpha', 'beta', 'ALPHA', 'gone'].map((project) => ({ account: ACCOUNT, project })),
  { account: OTHER_ACCOUNT, project: 'alpha' },
]

/** Headers beside the credential, and names that only look like those of credentials. */
const OTHERS: readonly Header[] = [
  ...[['Accept', '*/*'] as const, ['Cookie', 'a=b; c=d'] as const, ['X-Request-Id', '1'] as const],
  ...[['X-Portcullis-Kind', STATIC_KIND] as const, ['X-Auth-Token-2', 'x'] as const],
  ...[['XToken', 'x'] as const, ['X_Auth_Token', 'x'] as const, ['Authorization', 'Bearer x'] as const],
]

export interface Asking {
  readonly people: People
  readonly ended: readonly EndedToken[]
  /** That of the mode. */
  readonly library: Engine
}

/** The first questions of a seed. */
export function questionsOf(
  random: () => number,
  { people, ended, library }: Asking,
  count: number,
): Question[] {
  const dice = new Dice(random)
  const credentials = credentialsOf(people, ended)
  const apis = printedApis()
  return Array.from({ length: count }, (_, index) => {
    const api = dice.of(10) === 0 ? dice.one(UNKNOWN_APIS) : dice.one(apis)
    const target = dice.of(2) === 0 ? dice.one(TARGETS) : undefined
    const about = { api, ...(target !== undefined && { target }) }
    const asked = dice.of(5) === 0 ? claims(dice) : presented(dice, credentials, library)
    // Claims come from nowhere.
    const clientAddress = 'claims' in asked.subject ? undefined : dice.one(ADDRESSES)
    const question = {
      ...{ what: `question ${index}`, ...about, subject: asked.subject },
      ...(clientAddress !== undefined && { clientAddress }),
      ...stated(asked.credential, clientAddress),
      reason: 'ALLOWED',
    } satisfies Question
    return { ...question, reason: decisionOf(library, question).reason }
  })
}

/** The known facts of a credential that comes from there. */
function stated(credential: Credential | undefined, clientAddress: string | undefined) {
  if (credential === undefined) return {}
  const { known, fault, from } = credential
  const outside = from !== undefined && !from.includes(clientAddress ?? '')
  const wrong = fault ?? (outside ? ('ADDRESS_NOT_ALLOWED' as const) : undefined)
  return { ...(known && { known }), ...(wrong && { fault: wrong }) }
}

interface Asked {
  readonly subject: Question['subject']
  /** `undefined`: the headers have none, or more than one. */
  readonly credential?: Credential | undefined
}

function claims(dice: Dice): Asked {
  return { subject: { claims: { kind: dice.one(KINDS), scope: dice.one(TARGETS) } } }
}

/** Headers with credentials in them, and what they come to where a reader finds exactly one. */
function presented(dice: Dice, credentials: readonly Credential[], library: Engine): Asked {
  const sent: { readonly header: Header; readonly credential: Credential }[] = []
  const several = dice.of(12) === 0
  const none = dice.of(30) === 0
  for (let count = none ? 0 : several ? 2 : 1; count > 0; count--) {
    const credential = dice.one(credentials)
    const belongs = dice.of(10) > 0
    const other = credential.header === IAM_HEADER ? STATIC_HEADER : IAM_HEADER
    const name = spelled(dice, belongs ? credential.header : other)
    const misplaced = { value: credential.value, fault: credential.elsewhere } as Credential
    sent.push({
      header: [name, damaged(dice, credential.value)],
      credential: belongs ? credential : misplaced,
    })
  }
  const headers = dice.mixed([...sent.map(({ header }) => header), ...dice.some(OTHERS)])
  const found = library.extract(headers)
  // A reader of headers takes away what surrounds a token. A token that is damaged is no longer the same.
  const credential = found.ok
    ? (sent.find((each) => each.credential.value === found.value)?.credential ?? UNKNOWN)
    : undefined
  return { subject: { headers }, credential }
}

/** As clients send it; mostly as it is. */
function damaged(dice: Dice, value: string): string {
  switch (dice.of(40)) {
    case 0:
      return ''
    case 1:
      return ` \t${value} `
    case 2:
      return `${value},${value}`
    case 3:
      return `Bearer ${value}`
    case 4:
      return `${value}é`
    case 5:
      return value.padEnd(8_193, 'a')
    case 6:
      return `"${value}"`
    default:
      return value
  }
}

/** The rest of a token in quotes, or of one that is too long: a text of no form. */
const UNKNOWN: Credential = {
  ...{ value: '', header: '', fault: 'CREDENTIAL_INVALID', elsewhere: 'CREDENTIAL_INVALID' },
}

function credentialsOf(people: People, ended: readonly EndedToken[]): Credential[] {
  const own: Scope = { account: ACCOUNT }
  const alpha: Scope = { account: ACCOUNT, project: 'alpha' }
  const account = tokenOf(ACCOUNT_KIND, people.genuine[ACCOUNT_KIND] ?? '', own)
  const project = tokenOf(PROJECT_KIND, people.genuine[PROJECT_KIND] ?? '', alpha)
  const fixed = tokenOf(STATIC_KIND, people.genuine[STATIC_KIND] ?? '', own)
  const restricted = tokenOf(ACCOUNT_KIND, people.restricted, { account: 'restricted' })
  const panel = tokenOf(ACCOUNT_KIND, people.panel, own)
  const unknown = (value: string, header: string, elsewhere: Credential['elsewhere']): Credential => ({
    ...{ value, header, fault: 'CREDENTIAL_INVALID', elsewhere },
  })
  return [
    // So often that allowed questions are asked, too.
    ...Array.from({ length: 8 }, () => [account, project, fixed]).flat(),
    ...[
      { ...restricted, from: INSIDE },
      { ...restricted, from: INSIDE },
    ],
    { ...panel, known: { ...(panel.known as NonNullable<Question['known']>), holder: 'control_panel_user' } },
    { ...tokenOf(ACCOUNT_KIND, people.expired, own), fault: 'CREDENTIAL_EXPIRED' },
    { ...tokenOf(ACCOUNT_KIND, people.revoked, own), fault: 'CREDENTIAL_REVOKED' },
    { ...tokenOf(PROJECT_KIND, people.revokedProject, alpha), fault: 'CREDENTIAL_REVOKED' },
    ...ended.map(
      ({ kind, value, scope }): Credential => ({
        ...tokenOf(kind, value, scope),
        fault: 'CREDENTIAL_REVOKED',
      }),
    ),
    unknown(`${account.value.slice(0, -8)}AAAAAAAA`, IAM_HEADER, 'WRONG_HEADER'),
    unknown('eyJ.eyJ.x', IAM_HEADER, 'WRONG_HEADER'),
    unknown('gibberish', STATIC_HEADER, 'CREDENTIAL_INVALID'),
    unknown('Basic', IAM_HEADER, 'CREDENTIAL_INVALID'),
  ]
}

function tokenOf(kind: string, value: string, scope: Scope): Credential {
  const isStatic = kind === STATIC_KIND
  return {
    ...{ value, header: isStatic ? STATIC_HEADER : IAM_HEADER, elsewhere: 'WRONG_HEADER' },
    known: { kind, scope, holder: isStatic ? 'control_panel_user' : 'service_user' },
  }
}

/** The name of a header as one client or another spells it. */
function spelled(dice: Dice, name: string): string {
  return dice.one([name, name, name.toLowerCase(), name.toUpperCase()])
}

/** The body of a token issuance request (§2.2): built from values, and read back with every field checked. */
import type { Scope } from './decision.ts'

/** The content of an issuance request. */
export interface Issuance {
  /** Service user name (`<username>`). */
  readonly userName: string
  /** Account number (`<account_id>`) that the user belongs to. */
  readonly account: string
  /** Service user password (`<password>`). A secret. */
  readonly password: string
  /** With a project: a project-scoped token. Without: an account-scoped one (§4.1). */
  readonly scope: Scope
}

/** The JSON of §2.2. Exactly one of `domain` and `project` is in `auth.scope`. */
export interface IssuanceBody {
  readonly auth: {
    readonly identity: {
      readonly methods: readonly ['password']
      readonly password: {
        readonly user: {
          readonly name: string
          readonly domain: { readonly name: string }
          readonly password: string
        }
      }
    }
    readonly scope:
      | { readonly domain: { readonly name: string } }
      | { readonly project: { readonly name: string; readonly domain: { readonly name: string } } }
  }
}

/** A field that is not as §2.2 says. It never holds a value of the body, because that may be a secret. */
export interface FieldFault {
  /** Path of the field, for example `auth.scope.project.name`. */
  readonly path: string
  /** The expected value there. */
  readonly expected: string
}

export type IssuanceReading =
  | { readonly ok: true; readonly issuance: Issuance }
  | { readonly ok: false; readonly faults: readonly FieldFault[] }

/**
 * Builds the body of §2.2.
 *
 * @throws TypeError naming the field that is not a non-empty string
 */
export function buildIssuanceBody(issuance: Issuance): IssuanceBody {
  const { userName, account, password, scope } = issuance
  const domain = { name: scope.account }
  const body: IssuanceBody = {
    auth: {
      identity: {
        methods: ['password'],
        password: { user: { name: userName, domain: { name: account }, password } },
      },
      scope: scope.project === undefined ? { domain } : { project: { name: scope.project, domain } },
    },
  }
  const reading = readIssuanceBody(body)
  if (!reading.ok)
    throw new TypeError(
      reading.faults.map(({ path, expected }) => `${path}: expected ${expected}`).join('; '),
    )
  return body
}

/** Reads a body of §2.2, or names every field that is wrong. Total. */
export function readIssuanceBody(body: unknown): IssuanceReading {
  const faults: FieldFault[] = []
  try {
    const root = new Reader(body, '', faults)
    const auth = root.object('auth')
    const identity = auth.object('identity')
    const methods = identity.field('methods')
    if (identity.readable && !(Array.isArray(methods) && methods.length === 1 && methods[0] === 'password'))
      faults.push({ path: 'auth.identity.methods', expected: 'the array ["password"]' })
    const user = identity.object('password').object('user')
    const userName = user.string('name')
    const account = user.object('domain').string('name')
    const password = user.string('password')
    const scope = readScope(auth.object('scope'), faults)
    if (faults.length > 0) return { ok: false, faults }
    return { ok: true, issuance: { userName, account, password, scope } }
  } catch {
    // Only a hostile getter or proxy comes here; parsed JSON never does.
    return { ok: false, faults: [{ path: '', expected: 'a plain JSON object' }] }
  }
}

function readScope(scope: Reader, faults: FieldFault[]): Scope {
  // Survives: `{ account: '' }` → `{}`, `''` → `"Stryker was here!"`. A fault is noted before, and a reading
  // with faults has no values.
  if (!scope.readable) return { account: '' }
  const hasDomain = scope.field('domain') !== undefined
  const hasProject = scope.field('project') !== undefined
  if (hasDomain === hasProject) {
    faults.push({
      path: 'auth.scope',
      expected: `exactly one of domain (account scope) and project (project scope), not ${hasDomain ? 'both' : 'neither'}`,
    })
    // Survives: `{ account: '' }` → `{}`, `''` → `"Stryker was here!"`. A fault is noted before, and a
    // reading with faults has no values.
    return { account: '' }
  }
  if (hasDomain) return { account: scope.object('domain').string('name') }
  const project = scope.object('project')
  return { project: project.string('name'), account: project.object('domain').string('name') }
}

/** Reads the own fields of one JSON object, and notes each that is not as expected. */
class Reader {
  readonly readable: boolean
  readonly #value: object | undefined
  readonly #path: string
  readonly #faults: FieldFault[]

  /** @param parentReadable where the parent is not readable, it was reported, and its members are not */
  constructor(value: unknown, path: string, faults: FieldFault[], parentReadable = true) {
    this.readable = typeof value === 'object' && value !== null && !Array.isArray(value)
    this.#value = this.readable ? (value as object) : undefined
    this.#path = path
    this.#faults = faults
    if (!this.readable && parentReadable) faults.push({ path, expected: 'an object' })
  }

  field(name: string): unknown {
    if (this.#value === undefined || !Object.hasOwn(this.#value, name)) return undefined
    return (this.#value as Record<string, unknown>)[name]
  }

  object(name: string): Reader {
    return new Reader(this.field(name), this.#at(name), this.#faults, this.readable)
  }

  string(name: string): string {
    const value = this.field(name)
    if (typeof value === 'string' && value !== '') return value
    if (this.readable) this.#faults.push({ path: this.#at(name), expected: 'a non-empty string' })
    // Survives: `''` → `"Stryker was here!"`. A fault is noted before, and a reading with faults has no
    // values.
    return ''
  }

  #at(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`
  }
}

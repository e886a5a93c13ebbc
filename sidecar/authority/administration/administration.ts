/**
 * Administration of the embedded authority: its directory's records, and the secrets that come into being
 * with them.
 */

import type { ApplicationCredentialRecord } from '../../directory/application-credential-records.ts'
import type {
  AccountRecord,
  AuditFilter,
  AuditPage,
  AuditQuery,
  AuditRecord,
  Page,
  Permission,
  ProjectRecord,
  RevocationRecord,
  StaticTokenRecord,
  UserRecord,
  UserType,
} from '../../directory/directory.ts'
import type { DirectoryStore } from '../../directory/store.ts'
import type { Actor } from '../actor.ts'
import type { ControlPanel } from '../control-panel/control-panel.ts'
import { AccountAdministration } from './accounts.ts'
import { ApplicationCredentialAdministration } from './application-credentials.ts'
import { changeDirectory } from './change.ts'
import {
  type Applied,
  type DirectoryFile,
  DirectoryFileChange,
  passwordsFor,
  refuseRepetitions,
} from './directory-file.ts'
import { type AccountListing, listDirectory } from './directory-listing.ts'
import { MatrixAdministration } from './matrices.ts'
import { ProjectAdministration } from './projects.ts'
import { SecretMaker, type SecretParts } from './secrets.ts'
import { TokenAdministration, type TokenParts } from './tokens.ts'
import { UserAdministration } from './users.ts'

/** Who administers an account, for use cases. */
export { ADMINISTRATOR_ROLE, administersAccount } from '../../directory/directory.ts'
/** The records, for use cases, which never see the directory itself. */
export type { MatrixVersion } from '../../directory/matrix-versions.ts'
export type { RollBack } from './matrices.ts'
export type {
  AccountRecord,
  ApplicationCredentialRecord,
  AuditFilter,
  AuditRecord,
  Page,
  Permission,
  ProjectRecord,
  RevocationRecord,
  StaticTokenRecord,
  UserRecord,
  UserType,
}

export interface AdministrationParts extends SecretParts, TokenParts {
  /** Loads the control panel when it is first asked for. */
  readonly controlPanel: () => Promise<ControlPanel>
}

/** Every change names its actor first. Every method throws `CallError` where there is no answer. */
export class Administration {
  readonly accounts: AccountAdministration
  readonly projects: ProjectAdministration
  readonly users: UserAdministration
  readonly tokens: TokenAdministration
  readonly applicationCredentials: ApplicationCredentialAdministration
  readonly matrices: MatrixAdministration
  /** The control panel's links and sessions, loaded when they are first asked for. */
  readonly controlPanel: () => Promise<ControlPanel>
  readonly #store: DirectoryStore
  readonly #secrets: SecretMaker

  constructor(parts: AdministrationParts) {
    this.#store = parts.store
    this.#secrets = new SecretMaker(parts)
    this.accounts = new AccountAdministration(parts.store, parts.now)
    this.projects = new ProjectAdministration(parts.store)
    this.users = new UserAdministration(parts.store, this.#secrets)
    this.tokens = new TokenAdministration(parts, this.#secrets)
    this.applicationCredentials = new ApplicationCredentialAdministration(
      parts.store,
      parts.passwords,
      parts.now,
    )
    this.matrices = new MatrixAdministration(parts.store)
    this.controlPanel = parts.controlPanel
  }

  /** The audit trail, oldest first; of one account, or of all where it is empty. */
  audit(account: string, page: Page): Promise<readonly AuditRecord[]> {
    return this.#store.records.audit(account, page)
  }

  /** A part of the audit trail, from either end, of records that match. */
  auditPage(query: AuditQuery): Promise<AuditPage> {
    return this.#store.records.auditPage(query)
  }

  /** Moves the records of the audit trail that are older than that to files. Returns the files. */
  async archiveAudit(folder: string, beforeMs: number): Promise<readonly string[]> {
    const { archiveAudit } = await import('./audit-archive.ts')
    return archiveAudit(this.#store, folder, beforeMs)
  }

  /**
   * Creates what the file names and is missing, and sets permissions, roles, `owner` and `enabled` of the
   * users it names. Other users stay as they are. All or nothing.
   */
  async apply(actor: Actor, file: DirectoryFile): Promise<Applied> {
    refuseRepetitions(file)
    const passwords = await passwordsFor(file, this.#store.records, this.#secrets, actor.principal)
    return changeDirectory(
      this.#store,
      actor,
      (change) => new DirectoryFileChange(change, passwords, this.#secrets).apply(file),
      'what the file names',
    )
  }

  /** Everything, for one look at a small directory. Never a secret. */
  listing(): Promise<readonly AccountListing[]> {
    return listDirectory(this.#store.records)
  }
}

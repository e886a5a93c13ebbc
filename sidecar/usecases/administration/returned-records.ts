/** The records that operations return. */
export type { ApplicationCredentialRecord } from '../../directory/application-credential-records.ts'
export type {
  AccountRecord,
  AuditRecord,
  Permission,
  ProjectRecord,
  RevocationRecord,
  StaticTokenRecord,
  UserRecord,
} from '../../directory/directory.ts'

export type { PanelSession } from '../../directory/panel-records.ts'

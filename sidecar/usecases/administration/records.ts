/** The records that operations return. */
export type {
  AccountRecord,
  ApplicationCredentialRecord,
  AuditRecord,
  Permission,
  ProjectRecord,
  RevocationRecord,
  StaticTokenRecord,
  UserRecord,
} from '../../authority/administration/administration.ts'

export type { PanelSession } from '../../authority/control-panel/sessions.ts'

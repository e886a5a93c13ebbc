/** The records and words of the contract that the pages of IAM show. */

export {
  type AuditRecord,
  type ControlPanelUser,
  type Permission,
  PermissionScope,
  type PreviewAddressRestrictionResponse as AddressPreview,
  type Project,
  type ServiceUser,
} from '../../gen/portcullis/v1/directory.ts'

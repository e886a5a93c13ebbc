/** The records and words of the contract that the pages of IAM show, and the moments of the contract. */
import type { Timestamp } from '@bufbuild/protobuf/wkt'

export {
  type AuditRecord,
  type ControlPanelUser,
  type Permission,
  PermissionScope,
  type PreviewAddressRestrictionResponse as AddressPreview,
  type Project,
  type ServiceUser,
} from '../../gen/portcullis/v1/directory_pb.ts'

/** A moment as a request of the contract has it. @param ms since the epoch */
export function timestampOf(ms: number): Pick<Timestamp, 'seconds' | 'nanos'> {
  const seconds = Math.floor(ms / 1_000)
  return { seconds: BigInt(seconds), nanos: (ms - seconds * 1_000) * 1_000_000 }
}

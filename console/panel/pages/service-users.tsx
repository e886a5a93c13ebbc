/** IAM → Service Users, for the owner and `iam.admin` alone (§5.1). */
import { useState } from 'preact/hooks'
import { texts } from '../../texts/en/iam.ts'
import type { ServiceUser } from '../model/iam-records.ts'
import type { Column } from '../parts/paged-table.tsx'
import { CreateServiceUser } from './iam/create-service-user.tsx'
import { type NewPassword, PasswordOnce } from './iam/password-once.tsx'
import { CREATED, type Kind, NAME, RecordPage, STATE, useRecords } from './iam/record-page.tsx'
import { PermissionsShort, ServiceUserPanel } from './iam/service-user-panel.tsx'

const { serviceUsers: words } = texts

const SERVICE_USERS: Kind<ServiceUser> = {
  words,
  list: async (directory, page, options) => {
    const { users: rows, nextPageToken } = await directory.listServiceUsers(page, options)
    return { rows, nextPageToken }
  },
  get: async (directory, named, options) => (await directory.getServiceUser(named, options)).user,
  enable: async (directory, changed) => (await directory.updateServiceUser(changed)).user,
  delete: (directory, named) => directory.deleteServiceUser(named),
}

export function ServiceUsersPage() {
  const records = useRecords(SERVICE_USERS)
  const [secret, setSecret] = useState<NewPassword | undefined>(undefined)
  return (
    <RecordPage
      records={records}
      columns={COLUMNS}
      beside={(user) => <ServiceUserPanel user={user} records={records} showPassword={setSecret} />}
      form={({ added, ...props }) => (
        <CreateServiceUser
          {...props}
          created={(user, password) => {
            added(user)
            setSecret({ user, password })
          }}
        />
      )}
    >
      {secret && (
        <PasswordOnce
          secret={secret}
          close={() => {
            setSecret(undefined)
            records.open(secret.user.name)
          }}
        />
      )}
    </RecordPage>
  )
}

const COLUMNS: readonly Column<ServiceUser>[] = [
  NAME,
  {
    title: words.permission,
    cell: ({ permissions }) => <PermissionsShort permissions={permissions} />,
    width: '150px',
    hiddenOn: 'phone',
  },
  STATE,
  CREATED,
]

/** IAM → Users: the control panel users of an account. */
import { texts } from '../../texts/en/iam.ts'
import { ADMINISTRATOR_ROLE } from '../model/grants.ts'
import type { ControlPanelUser } from '../model/iam-records.ts'
import type { Column } from '../parts/paged-table.tsx'
import { CREATED, type Kind, NAME, RecordPage, STATE, useRecords } from './iam/record-page.tsx'
import { CreateUser } from './iam/user-forms.tsx'
import { UserPanel } from './iam/user-panel.tsx'

const { users: words } = texts

const USERS: Kind<ControlPanelUser> = {
  words,
  list: async (directory, page, options) => {
    const { users: rows, nextPageToken } = await directory.listControlPanelUsers(page, options)
    return { rows, nextPageToken }
  },
  get: async (directory, named, options) => (await directory.getControlPanelUser(named, options)).user,
  enable: async (directory, changed) => (await directory.updateControlPanelUser(changed)).user,
  delete: (directory, named) => directory.deleteControlPanelUser(named),
}

export function UsersPage() {
  const records = useRecords(USERS)
  return (
    <RecordPage
      records={records}
      columns={COLUMNS}
      beside={(user) => <UserPanel user={user} records={records} />}
      form={(props) => <CreateUser {...props} />}
    />
  )
}

const COLUMNS: readonly Column<ControlPanelUser>[] = [
  NAME,
  { title: words.kind, cell: (user) => <Rights user={user} />, width: '120px', hiddenOn: 'phone' },
  STATE,
  CREATED,
]

function Rights({ user: { owner, roles } }: { readonly user: ControlPanelUser }) {
  if (owner) return <span class="badge">{words.owner}</span>
  if (roles.includes(ADMINISTRATOR_ROLE)) return <span class="badge">{words.administrator}</span>
  return <span class="dim">{words.plain}</span>
}

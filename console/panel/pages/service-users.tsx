/** IAM → Service Users, for the owner and `iam.admin` alone (§5.1). */
import type { ComponentChildren } from 'preact'
import { useCallback, useState } from 'preact/hooks'
import { texts } from '../../texts/en/iam.ts'
import { useAccount, useApi, useGiven, useWho } from '../context.tsx'
import type { ServiceUser } from '../model/iam-records.ts'
import { whyNoChange } from '../model/may.ts'
import { messageOf } from '../model/messages.ts'
import { Page } from '../parts/page.tsx'
import { PagedTable } from '../parts/paged-table.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { Moment, msOf } from '../parts/time.tsx'
import { usePages } from '../parts/use-pages.ts'
import { CreateServiceUser } from './iam/create-service-user.tsx'
import { type NewPassword, PasswordOnce } from './iam/password-once.tsx'
import { Act, Beside, Name, Reasons, State } from './iam/records.tsx'
import { useNameFilter, useSelected } from './iam/selected.ts'
import { PermissionsShort, ServiceUserPanel } from './iam/service-user-panel.tsx'

const { serviceUsers, shared } = texts

export function ServiceUsersPage() {
  const account = useAccount() ?? ''
  const why = whyNoChange(useWho(), account)
  const [given, change] = useGiven()
  const [search, setSearch] = useState('')
  const [creating, setCreating] = useState(false)
  const [secret, setSecret] = useState<NewPassword | undefined>(undefined)
  const { pages, get } = useServiceUsers(account)
  const selected = useSelected(given.user, pages.paged.rows, get)
  const close = () => change({ user: undefined })
  const create = <Act text={serviceUsers.create} why={why} act={() => setCreating(true)} primary />
  return (
    <Page title={serviceUsers.title} about={serviceUsers.about} actions={create} filled>
      <Reasons whys={[why]} />
      <SearchBox value={search} change={setSearch} label={shared.search} />
      <div class="split" data-open={given.user !== undefined}>
        <Users
          pages={pages}
          search={search}
          opened={given.user}
          open={(name) => change({ user: name }, 'push')}
          create={create}
        />
        {given.user !== undefined && (
          <Beside
            key={given.user}
            title={<Name name={given.user} />}
            label={shared.details(given.user)}
            close={close}
          >
            {selected.row && (
              <ServiceUserPanel
                user={selected.row}
                pages={pages}
                changed={selected.set}
                deleted={close}
                showPassword={setSecret}
              />
            )}
            {selected.lost && <p>{shared.lost(given.user)}</p>}
            {selected.error && <p role="alert">{messageOf(selected.error)}</p>}
          </Beside>
        )}
      </div>
      {creating && (
        <CreateServiceUser
          account={account}
          close={() => setCreating(false)}
          unknown={pages.reload}
          created={(user, password) => {
            pages.add(user)
            setCreating(false)
            setSecret({ user, password })
          }}
        />
      )}
      {secret && (
        <PasswordOnce
          secret={secret}
          close={() => {
            setSecret(undefined)
            change({ user: secret.user.name })
          }}
        />
      )}
    </Page>
  )
}

function useServiceUsers(account: string) {
  const api = useApi()
  const fetchPage = useCallback(
    async (pageToken: string, pageSize: number, signal: AbortSignal) => {
      const page = await api.directory.listServiceUsers({ account, pageSize, pageToken }, { signal })
      return { rows: page.users, nextPageToken: page.nextPageToken }
    },
    [api, account],
  )
  const pages = usePages<ServiceUser>(fetchPage, ({ id }) => id)
  const get = useCallback(
    async (name: string, signal: AbortSignal) =>
      (await api.directory.getServiceUser({ account, name }, { signal })).user,
    [api, account],
  )
  return { pages, get }
}

interface UsersProps {
  readonly pages: ReturnType<typeof usePages<ServiceUser>>
  readonly search: string
  readonly opened: string | undefined
  readonly open: (name: string) => void
  readonly create: ComponentChildren
}

function Users({ pages, search, opened, open, create }: UsersProps) {
  const filter = useNameFilter(search)
  return (
    <PagedTable
      label={serviceUsers.list}
      pages={pages}
      filter={filter}
      open={({ name }) => open(name)}
      isOpened={({ name }) => name === opened}
      empty={
        <>
          <p>
            <strong>{serviceUsers.empty}</strong>
          </p>
          <p>{serviceUsers.emptyHint}</p>
          {create}
        </>
      }
      columns={[
        { title: shared.name, cell: ({ name }) => <Name name={name} /> },
        {
          title: serviceUsers.permission,
          cell: ({ permissions }) => <PermissionsShort permissions={permissions} />,
          width: '150px',
          hiddenOn: 'phone',
        },
        { title: shared.state, cell: ({ enabled }) => <State enabled={enabled} />, width: '110px' },
        {
          title: shared.created,
          cell: ({ createdAt }) => <Moment ms={msOf(createdAt)} />,
          width: '190px',
          hiddenOn: 'tablet',
        },
      ]}
    />
  )
}

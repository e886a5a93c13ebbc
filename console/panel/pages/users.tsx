/** IAM → Users: the control panel users of an account. */
import type { ComponentChildren } from 'preact'
import { useCallback, useState } from 'preact/hooks'
import { texts } from '../../texts/en/iam.ts'
import { useAccount, useApi, useGiven, useToast, useWho } from '../context.tsx'
import { ADMINISTRATOR_ROLE } from '../model/grants.ts'
import type { ControlPanelUser } from '../model/iam-records.ts'
import { whyNoChange } from '../model/may.ts'
import { messageOf } from '../model/messages.ts'
import { Page } from '../parts/page.tsx'
import { PagedTable } from '../parts/paged-table.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { Moment, msOf } from '../parts/time.tsx'
import { type Pages, usePages } from '../parts/use-pages.ts'
import { Act, Beside, Name, Reasons, State } from './iam/records.tsx'
import { useNameFilter, useSelected } from './iam/selected.ts'
import { CreateUser } from './iam/user-forms.tsx'
import { UserPanel } from './iam/user-panel.tsx'

const { users: words, shared } = texts

export function UsersPage() {
  const account = useAccount() ?? ''
  const say = useToast()
  const why = whyNoChange(useWho(), account)
  const [given, change] = useGiven()
  const [search, setSearch] = useState('')
  const [creating, setCreating] = useState(false)
  const { pages, get } = useControlPanelUsers(account)
  const selected = useSelected(given.user, pages.paged.rows, get)
  const close = () => change({ user: undefined })
  const create = <Act text={words.create} why={why} act={() => setCreating(true)} primary />
  return (
    <Page title={words.title} about={words.about} actions={create} filled>
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
              <UserPanel user={selected.row} pages={pages} changed={selected.set} deleted={close} />
            )}
            {selected.lost && <p>{shared.lost(given.user)}</p>}
            {selected.error && <p role="alert">{messageOf(selected.error)}</p>}
          </Beside>
        )}
      </div>
      {creating && (
        <CreateUser
          account={account}
          close={() => setCreating(false)}
          unknown={pages.reload}
          created={(user) => {
            pages.add(user)
            setCreating(false)
            say({ text: shared.createdNow(user.name) })
            change({ user: user.name }, 'push')
          }}
        />
      )}
    </Page>
  )
}

function useControlPanelUsers(account: string) {
  const api = useApi()
  const fetchPage = useCallback(
    async (pageToken: string, pageSize: number, signal: AbortSignal) => {
      const page = await api.directory.listControlPanelUsers({ account, pageSize, pageToken }, { signal })
      return { rows: page.users, nextPageToken: page.nextPageToken }
    },
    [api, account],
  )
  const pages = usePages<ControlPanelUser>(fetchPage, ({ id }) => id)
  const get = useCallback(
    async (name: string, signal: AbortSignal) =>
      (await api.directory.getControlPanelUser({ account, name }, { signal })).user,
    [api, account],
  )
  return { pages, get }
}

interface UsersProps {
  readonly pages: Pages<ControlPanelUser>
  readonly search: string
  readonly opened: string | undefined
  readonly open: (name: string) => void
  readonly create: ComponentChildren
}

function Users({ pages, search, opened, open, create }: UsersProps) {
  const filter = useNameFilter(search)
  return (
    <PagedTable
      label={words.list}
      pages={pages}
      filter={filter}
      open={({ name }) => open(name)}
      isOpened={({ name }) => name === opened}
      empty={
        <>
          <p>
            <strong>{words.empty}</strong>
          </p>
          <p>{words.emptyHint}</p>
          {create}
        </>
      }
      columns={[
        { title: shared.name, cell: ({ name }) => <Name name={name} /> },
        { title: words.kind, cell: (user) => <Rights user={user} />, width: '120px', hiddenOn: 'phone' },
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

function Rights({ user: { owner, roles } }: { readonly user: ControlPanelUser }) {
  if (owner) return <span class="badge">{words.owner}</span>
  if (roles.includes(ADMINISTRATOR_ROLE)) return <span class="badge">{words.administrator}</span>
  return <span class="dim">{words.plain}</span>
}

/**
 * The common part of the pages of an account's records: the list, a record beside it, and how one is made,
 * disabled and deleted.
 */
import type { ComponentChildren } from 'preact'
import { useCallback, useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { focusTitle } from '../../../ui/focus.ts'
import { useAccount, useApi, useGiven, useToast, useWho } from '../../context.tsx'
import type { Api } from '../../model/api.ts'
import type { Project } from '../../model/iam-records.ts'
import { type Why, whyNoChange } from '../../model/may.ts'
import { messageOf } from '../../model/messages.ts'
import type { Fetched } from '../../model/paging.ts'
import { AskFirst } from '../../parts/ask-first.tsx'
import { ConfirmName } from '../../parts/confirm-name.tsx'
import { Page } from '../../parts/page.tsx'
import { type Column, PagedTable } from '../../parts/paged-table.tsx'
import { SearchBox } from '../../parts/search-box.tsx'
import { Moment, msOf } from '../../parts/time.tsx'
import { type Pages, usePages } from '../../parts/use-pages.ts'
import { Act, Beside, Name, Reasons, State } from './records.tsx'
import { type Selected, useNameFilter, useSelected } from './selected.ts'

const { shared } = texts

/** The fields of every kind of records. */
export type AccountRecord = Pick<Project, 'account' | 'id' | 'name' | 'enabled' | 'createdAt'>

type Named = Pick<AccountRecord, 'account' | 'name'>
type Directory = Api['directory']
interface Options {
  readonly signal: AbortSignal
}

/** One kind of records: what the page says of them, and their calls. */
export interface Kind<T extends AccountRecord> {
  readonly words: Words
  readonly list: (
    directory: Directory,
    page: { readonly account: string; readonly pageSize: number; readonly pageToken: string },
    options: Options,
  ) => Promise<Fetched<T>>
  /** Absent: a record has nothing to show beside the list. */
  readonly get?: (directory: Directory, named: Named, options: Options) => Promise<T | undefined>
  readonly enable: (
    directory: Directory,
    named: Named & Pick<AccountRecord, 'enabled'>,
  ) => Promise<T | undefined>
  readonly delete: (directory: Directory, named: Named) => Promise<unknown>
}

type Plain = 'title' | 'about' | 'list' | 'empty' | 'emptyHint' | 'create'
type OfActs = 'disableTitle' | 'enableTitle' | 'deleteTitle' | 'deleteAbout'
type OfOne = 'disableAbout' | 'enableAbout' | 'deleteButton'
type Words = Readonly<Record<Plain | OfActs, string> & Record<OfOne, (name: string) => string>>

/** The records of a kind in the account that is looked at. */
export interface Records<T extends AccountRecord> {
  readonly kind: Kind<T>
  readonly account: string
  /** Why they cannot be changed. */
  readonly why: Why | undefined
  readonly pages: Pages<T>
  readonly selected: Selected<T>
  /** Name of the record that is shown beside the list; `undefined`: none is. */
  readonly opened: string | undefined
  readonly open: (name: string | undefined, how?: 'push' | 'replace') => void
  /** Shows a record as it is now, and says what became of it. */
  readonly become: (record: T | undefined, text: string) => void
}

/** @param kind a constant: another one is another list */
export function useRecords<T extends AccountRecord>(kind: Kind<T>): Records<T> {
  const { directory } = useApi()
  const account = useAccount() ?? ''
  const say = useToast()
  const why = whyNoChange(useWho(), account)
  const [given, change] = useGiven()
  const fetchPage = useCallback(
    (pageToken: string, pageSize: number, signal: AbortSignal) =>
      kind.list(directory, { account, pageSize, pageToken }, { signal }),
    [kind, directory, account],
  )
  const pages = usePages<T>(fetchPage, ({ id }) => id)
  const get = useCallback(
    async (name: string, signal: AbortSignal) => kind.get?.(directory, { account, name }, { signal }),
    [kind, directory, account],
  )
  const opened = kind.get && given.user
  const selected = useSelected(opened, pages.paged.rows, get)
  return {
    ...{ kind, account, why, pages, selected, opened },
    open: (name, how) => change({ user: name }, how),
    become: (record, text) => {
      if (record !== undefined) {
        pages.change(record.id, () => record)
        selected.set(record)
      }
      say({ text })
    },
  }
}

/** The properties of the form of a new record. */
export interface CreateProps<T> {
  readonly account: string
  readonly close: () => void
  /** Puts it into the list. */
  readonly added: (record: T) => void
  /** Says and shows that there is one now, too. */
  readonly created: (record: T) => void
  /** It is unknown whether there is one now. */
  readonly unknown: () => void
}

interface RecordPageProps<T extends AccountRecord> {
  readonly records: Records<T>
  readonly columns: readonly Column<T>[]
  /** The view of one beside the list. */
  readonly beside?: (record: T) => ComponentChildren
  /** The form of a new one. */
  readonly form: (props: CreateProps<T>) => ComponentChildren
  readonly children?: ComponentChildren
}

export function RecordPage<T extends AccountRecord>(props: RecordPageProps<T>) {
  const { records, columns, beside, form, children } = props
  const { kind, account, why, pages, opened, open } = records
  const { words } = kind
  const say = useToast()
  const [search, setSearch] = useState('')
  const [creating, setCreating] = useState(false)
  const filter = useNameFilter(search)
  const create = <Act text={words.create} why={why} act={() => setCreating(true)} primary />
  const added = (record: T) => {
    pages.add(record)
    setCreating(false)
  }
  const created = (record: T) => {
    added(record)
    say({ text: shared.createdNow(record.name) })
    if (beside !== undefined) open(record.name, 'push')
  }
  const list = (
    <PagedTable
      {...{ label: words.list, pages, filter, columns }}
      {...(beside && {
        open: ({ name }: T) => open(name, 'push'),
        isOpened: ({ name }: T) => name === opened,
      })}
      empty={
        <>
          <p>
            <strong>{words.empty}</strong>
          </p>
          <p>{words.emptyHint}</p>
          {create}
        </>
      }
    />
  )
  return (
    <Page title={words.title} about={words.about} actions={create} filled>
      <Reasons whys={[why]} />
      <SearchBox value={search} change={setSearch} label={shared.search} />
      {beside === undefined ? (
        list
      ) : (
        <div class="split" data-open={opened !== undefined}>
          {list}
          <Opened records={records}>{beside}</Opened>
        </div>
      )}
      {creating && form({ account, close: () => setCreating(false), unknown: pages.reload, added, created })}
      {children}
    </Page>
  )
}

interface OpenedProps<T extends AccountRecord> {
  readonly records: Records<T>
  readonly children: (record: T) => ComponentChildren
}

function Opened<T extends AccountRecord>({ records, children }: OpenedProps<T>) {
  const { opened, open, selected } = records
  if (opened === undefined) return null
  const { row, lost, error } = selected
  return (
    <Beside
      key={opened}
      title={<Name name={opened} />}
      label={shared.details(opened)}
      close={() => open(undefined)}
    >
      {row && children(row)}
      {lost && <p>{shared.lost(opened)}</p>}
      {error && <p role="alert">{messageOf(error)}</p>}
    </Beside>
  )
}

/** The columns that several lists have. */
export const NAME: Column<AccountRecord> = { title: shared.name, cell: ({ name }) => <Name name={name} /> }
export const STATE: Column<AccountRecord> = {
  title: shared.state,
  cell: ({ enabled }) => <State enabled={enabled} />,
  width: '110px',
}
export const CREATED: Column<AccountRecord> = {
  title: shared.created,
  cell: ({ createdAt }) => <Moment ms={msOf(createdAt)} />,
  width: '190px',
  hiddenOn: 'tablet',
}

/** An action on a record after a confirmation. */
export interface Action {
  readonly text: string
  readonly why: Why | undefined
  readonly danger?: boolean
  /** The dialog that asks. */
  readonly dialog: (close: () => void) => ComponentChildren
}

/** Buttons, and the dialog of the one that was pressed. */
export function Actions({
  actions,
  whys,
}: {
  readonly actions: readonly Action[]
  readonly whys: readonly (Why | undefined)[]
}) {
  const [asking, ask] = useState<number | undefined>(undefined)
  return (
    <>
      <div class="actions start">
        {actions.map(({ text, why, danger = false }, index) => (
          // The text may change, and the button must keep the focus.
          <Act key={index} {...{ text, why, danger }} act={() => ask(index)} />
        ))}
      </div>
      <Reasons whys={whys} />
      {asking !== undefined && actions[asking]?.dialog(() => ask(undefined))}
    </>
  )
}

interface DialogProps<T extends AccountRecord> {
  readonly records: Pick<Records<T>, 'kind' | 'pages' | 'become' | 'opened' | 'open'>
  readonly record: T
  readonly close: () => void
}

/** Asks first, then disables the record, or enables it. */
export function EnableDialog<T extends AccountRecord>({ records, record, close }: DialogProps<T>) {
  const { directory } = useApi()
  const { kind, become } = records
  const { words } = kind
  const { account, name, enabled } = record
  return (
    <AskFirst
      title={enabled ? words.disableTitle : words.enableTitle}
      about={enabled ? words.disableAbout(name) : words.enableAbout(name)}
      button={enabled ? shared.disable : shared.enable}
      danger={enabled}
      close={close}
      act={async () => {
        const changed = await kind.enable(directory, { account, name, enabled: !enabled })
        become(changed, enabled ? shared.disabledNow(name) : shared.enabledNow(name))
      }}
    />
  )
}

/** Asks for the name, then deletes the record. */
export function DeleteDialog<T extends AccountRecord>({ records, record, close }: DialogProps<T>) {
  const { directory } = useApi()
  const say = useToast()
  const { kind, pages, opened, open } = records
  const { words } = kind
  const { account, id, name } = record
  return (
    <ConfirmName
      title={words.deleteTitle}
      about={words.deleteAbout}
      name={name}
      button={words.deleteButton(name)}
      close={close}
      act={async () => {
        await kind.delete(directory, { account, name })
        pages.change(id, () => undefined)
        say({ text: shared.deletedNow(name) })
        if (opened !== undefined) open(undefined)
        focusTitle()
      }}
    />
  )
}

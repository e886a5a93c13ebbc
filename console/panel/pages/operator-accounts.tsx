/**
 * The accounts of the directory, for operators: create, enable, disable, delete, and the way to the users of
 * one.
 */
import { useCallback, useMemo, useState } from 'preact/hooks'
import { linkTo } from '../../model/routes.ts'
import { texts } from '../../texts/en/operators.ts'
import { focusTitle } from '../../ui/focus.ts'
import { goTo, useApi, useToast, useWho } from '../context.tsx'
import { type Account, fetchAccounts, seesAllAccounts } from '../model/accounts.ts'
import type { Api } from '../model/api.ts'
import { apiErrorOf, made } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'
import { AskFirst } from '../parts/ask-first.tsx'
import { ConfirmName } from '../parts/confirm-name.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, needed, TextField, useForm } from '../parts/form.tsx'
import { Page } from '../parts/page.tsx'
import { type Column, PagedTable } from '../parts/paged-table.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { Moment, msOf } from '../parts/time.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { type Pages, usePages } from '../parts/use-pages.ts'

const words = texts.accounts

/** The action to confirm. */
type Asked = { readonly what: 'disable' | 'delete'; readonly account: string } | { readonly what: 'create' }

export function OperatorAccountsPage() {
  const { directory } = useApi()
  const who = useWho()
  const changes = who.type === 'operator' && who.rights.everything
  const fetchPage = useCallback(
    (pageToken: string, pageSize: number, signal: AbortSignal) =>
      fetchAccounts(directory, who, { pageToken, pageSize, signal }),
    [directory, who],
  )
  const pages = usePages<Account>(fetchPage, ({ account }) => account)
  const [search, setSearch] = useState('')
  const [asked, ask] = useState<Asked | undefined>(undefined)
  const enable = useEnable(pages)
  const columns = useMemo(() => columnsOf(changes ? { ask, enable } : undefined), [changes, enable])
  return (
    <Page
      filled
      title={words.title}
      about={seesAllAccounts(who) ? words.about : words.onlyYours}
      actions={
        changes && (
          <button type="button" class="primary" onClick={() => ask({ what: 'create' })}>
            {words.create}
          </button>
        )
      }
    >
      <div class="list-filters">
        <SearchBox value={search} change={setSearch} label={words.search} />
      </div>
      <PagedTable
        label={words.list}
        pages={pages}
        columns={columns}
        filter={search === '' ? undefined : ({ account }) => account.includes(search.trim())}
        open={({ account }) => goTo({ page: 'iam/users', given: { account } })}
        empty={words.empty}
      />
      {seesAllAccounts(who) && <LeftOfDeletions />}
      {asked !== undefined && <Question asked={asked} pages={pages} close={() => ask(undefined)} />}
    </Page>
  )
}

/** Nothing while it is not known: the list does not need it. */
function LeftOfDeletions() {
  const { operator } = useApi()
  const { value } = useLoaded(operator.removal)
  const text = value?.left && words.left(value.left)
  return text ? <p class="dim">{text}</p> : null
}

interface Changes {
  readonly ask: (asked: Asked) => void
  readonly enable: (account: string) => void
}

function columnsOf(changes: Changes | undefined): readonly Column<Account>[] {
  const columns: readonly Column<Account>[] = [
    {
      title: words.number,
      cell: ({ account }) => (
        <a href={linkTo('iam/users', { account })} aria-label={words.open(account)}>
          {account}
        </a>
      ),
    },
    {
      title: words.state,
      width: '9em',
      cell: ({ enabled }) => (
        <span class="badge" data-kind={enabled ? 'good' : 'bad'}>
          {enabled ? words.enabled : words.disabled}
        </span>
      ),
    },
    { title: words.created, hiddenOn: 'phone', cell: ({ createdAt }) => <Moment ms={msOf(createdAt)} /> },
  ]
  if (changes === undefined) return columns
  return [
    ...columns,
    {
      title: words.actions,
      actions: true,
      cell: ({ account, enabled }) => (
        <>
          {enabled ? (
            <button
              type="button"
              class="quiet"
              aria-label={words.disableOf(account)}
              onClick={() => changes.ask({ what: 'disable', account })}
            >
              {words.disable}
            </button>
          ) : (
            <button
              type="button"
              class="quiet"
              aria-label={words.enableOf(account)}
              onClick={() => changes.enable(account)}
            >
              {words.enable}
            </button>
          )}
          <button
            type="button"
            class="quiet"
            aria-label={words.deleteOf(account)}
            onClick={() => changes.ask({ what: 'delete', account })}
          >
            {words.delete}
          </button>
        </>
      ),
    },
  ]
}

/** Nothing is lost by it, so there is no confirmation. */
function useEnable({ change }: Pages<Account>): (account: string) => void {
  const { directory } = useApi()
  const say = useToast()
  return useCallback(
    async (account) => {
      try {
        await setEnabled(directory, account, true)
        change(account, (row) => ({ ...row, enabled: true }))
        say({ text: words.enabledToast(account) })
      } catch (error) {
        say({ kind: 'failed', text: messageOf(apiErrorOf(error)) })
      }
    },
    [directory, change, say],
  )
}

async function setEnabled(directory: Api['directory'], account: string, enabled: boolean): Promise<void> {
  await directory.updateAccount({ account, enabled })
}

interface QuestionProps {
  readonly asked: Asked
  readonly pages: Pages<Account>
  readonly close: () => void
}

function Question({ asked, pages, close }: QuestionProps) {
  const { directory } = useApi()
  const say = useToast()
  if (asked.what === 'create') return <CreateDialog pages={pages} close={close} />
  const { account } = asked
  if (asked.what === 'disable')
    return (
      <AskFirst
        title={words.disableOf(account)}
        about={words.disableAbout}
        button={words.disable}
        close={close}
        act={async () => {
          await setEnabled(directory, account, false)
          pages.change(account, (row) => ({ ...row, enabled: false }))
          say({ text: words.disabledToast(account) })
        }}
      />
    )
  return (
    <ConfirmName
      title={words.deleteOf(account)}
      about={words.deleteAbout}
      name={account}
      button={words.deleteOf(account)}
      close={close}
      act={async () => {
        const { users, projects } = await directory.deleteAccount({ account })
        pages.change(account, () => undefined)
        say({ text: words.deletedToast(account, users, projects) })
        focusTitle()
      }}
    />
  )
}

function CreateDialog({ pages, close }: Omit<QuestionProps, 'asked'>) {
  const { directory } = useApi()
  const say = useToast()
  const form = useForm({ account: '' }, ({ account }) => ({ account: needed(account, words.label) }))
  return (
    <Dialog title={words.createTitle} close={close}>
      <Form
        form={form}
        button={words.create}
        cancel={close}
        submit={async ({ account: number }) => {
          const { account } = await made(directory.createAccount({ account: number.trim() }), pages.reload)
          if (account !== undefined) pages.add(account)
          say({ text: words.createdToast(number.trim()) })
          close()
        }}
      >
        <TextField form={form} name="account" label={words.label} hint={words.hint} autofocus mono />
      </Form>
    </Dialog>
  )
}

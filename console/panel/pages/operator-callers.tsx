/**
 * The callers of the configuration: what each may do, how it is known, and until when. Never what it is known
 * by.
 */
import { Fragment } from 'preact'
import { useCallback, useState } from 'preact/hooks'
import { texts } from '../../texts/en/operators.ts'
import { Facts } from '../../ui/parts.tsx'
import { useApi, useWho } from '../context.tsx'
import type { Caller } from '../model/wire.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Page } from '../parts/page.tsx'
import { type Column, PagedTable } from '../parts/paged-table.tsx'
import { Distance } from '../parts/time.tsx'
import { usePages } from '../parts/use-pages.ts'

const words = texts.callers

export function OperatorCallersPage() {
  const { operator } = useApi()
  const who = useWho()
  const fetchPage = useCallback(
    async () => ({ rows: (await operator.callers()).callers, nextPageToken: '' }),
    [operator],
  )
  const pages = usePages<Caller>(fetchPage, ({ name }) => name)
  const [opened, open] = useState<Caller | undefined>(undefined)
  return (
    <Page filled title={words.title} about={words.about}>
      <PagedTable
        label={words.list}
        pages={pages}
        columns={columnsFor(who.name)}
        open={open}
        isOpened={(caller) => caller === opened}
        empty={words.empty}
      />
      {opened !== undefined && <Details caller={opened} close={() => open(undefined)} />}
    </Page>
  )
}

/** @param own name of the caller who looks */
function columnsFor(own: string): readonly Column<Caller>[] {
  return [
    {
      title: words.name,
      cell: ({ name }) => (
        <>
          {name} {name === own && <span class="badge">{words.you}</span>}
        </>
      ),
    },
    { title: words.rights, cell: ({ rights }) => <Few all={rightsOf(rights)} none={words.noRights} /> },
    {
      title: words.profiles,
      hiddenOn: 'tablet',
      cell: ({ profiles }) => <Few all={profiles} none={words.noProfiles} />,
    },
    { title: words.knownBy, hiddenOn: 'phone', cell: knownBy },
    { title: words.ends, width: '15em', cell: (caller) => <End caller={caller} /> },
  ]
}

/** The rights as the configuration writes them. */
export function rightsOf({ everything, read, revoke, administer }: Caller['rights']): readonly string[] {
  return [
    ...(everything ? ['everything'] : []),
    ...(read ? ['read'] : []),
    ...(revoke ? ['revoke'] : []),
    ...administer.map((account) => `administer:${account}`),
  ]
}

const knownBy = ({ identifiedBy }: Caller): string =>
  identifiedBy.map((each) => words.identifiedBy[each]).join(', ')

/** So many fit into a row. */
const FEW = 2

interface ListProps {
  readonly all: readonly string[]
  /** Said of none. */
  readonly none: string
}

function Few({ all, none }: ListProps) {
  if (all.length === 0) return <span class="dim">{none}</span>
  const shown = all.slice(0, FEW)
  return (
    <>
      {shown.map((each) => (
        <Fragment key={each}>
          <code>{each}</code>{' '}
        </Fragment>
      ))}
      {all.length > FEW && <span class="dim">{words.more(all.length - FEW)}</span>}
    </>
  )
}

function End({ caller: { expiresAtMs, expired } }: { readonly caller: Caller }) {
  if (expiresAtMs === null) return <span class="dim">{words.never}</span>
  return (
    <>
      {expired && (
        <span class="badge" data-kind="bad">
          {words.expired}
        </span>
      )}{' '}
      <Distance ms={expiresAtMs} />
    </>
  )
}

function Details({ caller, close }: { readonly caller: Caller; readonly close: () => void }) {
  return (
    <Dialog title={words.details(caller.name)} close={close} wide>
      <Facts
        facts={{
          [words.rights]: <Codes all={rightsOf(caller.rights)} none={words.noRights} />,
          [words.profiles]: <Codes all={caller.profiles} none={words.noProfiles} />,
          [words.knownBy]: knownBy(caller),
          [words.ends]: <End caller={caller} />,
        }}
      />
    </Dialog>
  )
}

function Codes({ all, none }: ListProps) {
  if (all.length === 0) return <span class="dim">{none}</span>
  return (
    <ul class="codes">
      {all.map((each) => (
        <li key={each}>
          <code>{each}</code>
        </li>
      ))}
    </ul>
  )
}

/** The audit trail of an account: who changed what, newest first, with filters in the link. */
import { useCallback, useMemo, useState } from 'preact/hooks'
import { texts } from '../../texts/en/iam.ts'
import { CopyButton, Facts } from '../../ui/parts.tsx'
import { useAccount, useApi, useGiven } from '../context.tsx'
import { auditRequest, filtersOf, isFiltered, type Named, namedActor, namedSubject } from '../model/audit.ts'
import { exportedOf } from '../model/export.ts'
import type { AuditRecord } from '../model/iam-records.ts'
import { Page } from '../parts/page.tsx'
import { PagedTable } from '../parts/paged-table.tsx'
import { Moment, msOf } from '../parts/time.tsx'
import { usePages } from '../parts/use-pages.ts'
import { AuditExport } from './iam/audit-export.tsx'
import { AuditFilterFields } from './iam/audit-filters.tsx'
import { Beside, NameWithId } from './iam/records.tsx'

const { audit: words } = texts

export function AuditPage() {
  const api = useApi()
  const account = useAccount() ?? ''
  const [given, change] = useGiven()
  const { who, what, subject, from, to } = filtersOf(given)
  // The same filters are the same request, so another part of the link loads nothing again.
  const filters = useMemo(() => ({ who, what, subject, from, to }), [who, what, subject, from, to])
  const [opened, setOpened] = useState<AuditRecord | undefined>(undefined)
  const fetchPage = useCallback(
    async (pageToken: string, pageSize: number, signal: AbortSignal) => {
      const page = await api.directory.listAuditRecords(
        { ...auditRequest(account, filters), pageSize, pageToken },
        { signal },
      )
      return { rows: page.records, nextPageToken: page.nextPageToken }
    },
    [api, account, filters],
  )
  const pages = usePages<AuditRecord>(fetchPage, ({ sequence }) => String(sequence))
  return (
    <Page
      title={words.title}
      about={words.about}
      actions={<AuditExport account={account} filters={filters} />}
      filled
    >
      <AuditFilterFields filters={filters} change={change} />
      <div class="split" data-open={opened !== undefined}>
        <PagedTable
          label={words.list}
          pages={pages}
          open={setOpened}
          isOpened={({ sequence }) => sequence === opened?.sequence}
          empty={<p>{isFiltered(filters) ? words.emptyFiltered : words.empty}</p>}
          columns={COLUMNS}
        />
        {opened && (
          <Beside
            key={String(opened.sequence)}
            title={words.record(String(opened.sequence))}
            label={words.record(String(opened.sequence))}
            close={() => setOpened(undefined)}
          >
            <Details record={opened} filter={(filter) => change(filter, 'push')} />
          </Beside>
        )}
      </div>
    </Page>
  )
}

const COLUMNS = [
  { title: words.at, cell: ({ at }: AuditRecord) => <Moment ms={msOf(at)} />, width: '192px' },
  {
    title: words.who,
    cell: ({ actor }: AuditRecord) => <NameWithId {...namedActor(actor)} />,
    hiddenOn: 'tablet',
  },
  { title: words.what, cell: ({ action }: AuditRecord) => <code>{action}</code> },
  {
    title: words.subject,
    cell: (record: AuditRecord) => <NameWithId {...namedSubject(record)} />,
    hiddenOn: 'phone',
  },
] as const

interface DetailsProps {
  readonly record: AuditRecord
  readonly filter: (change: { readonly who?: string; readonly subject?: string }) => void
}

function Details({ record, filter }: DetailsProps) {
  const { sequence, at, actor, action, account, subject, subjectId } = record
  const exported = exportedOf(record)
  const details = JSON.stringify(exported.details, undefined, 2)
  return (
    <>
      <Facts
        facts={{
          [words.at]: <Moment ms={msOf(at)} />,
          [words.who]: (
            <Filtering
              named={namedActor(actor)}
              text={words.filterWho}
              filter={() => filter({ who: actor })}
            />
          ),
          [words.what]: <code>{action}</code>,
          [words.subject]: (
            <Filtering
              named={namedSubject(record)}
              text={words.filterSubject}
              filter={() => filter({ subject: subjectId || subject })}
            />
          ),
          [words.account]: account,
          [words.sequence]: String(sequence),
        }}
      />
      <section>
        <header class="section-head">
          <h3>{words.details}</h3>
          <CopyButton text={() => JSON.stringify(exported, undefined, 2)} label={words.copy} />
        </header>
        {details === '{}' ? (
          <p class="hint">{words.noDetails}</p>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: long details are scrolled with the keyboard
          <pre class="details" tabIndex={0}>
            {details}
          </pre>
        )}
      </section>
    </>
  )
}

interface FilteringProps {
  readonly named: Named
  readonly text: string
  readonly filter: () => void
}

/** A name, and the way to its records. */
function Filtering({ named, text, filter }: FilteringProps) {
  return (
    <>
      <NameWithId {...named} />{' '}
      <button type="button" class="link" onClick={filter}>
        {text}
      </button>
    </>
  )
}

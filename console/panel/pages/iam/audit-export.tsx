/** Exports what the filters find: with progress, and with a way to stop it. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { Icon } from '../../../ui/icons.tsx'
import { saveFile } from '../../../ui/save-file.ts'
import { useApi, useToast } from '../../context.tsx'
import { type AuditFilters, auditRequest } from '../../model/audit.ts'
import { apiErrorOf, GIVEN_UP } from '../../model/errors.ts'
import { type ExportFormat, exported } from '../../model/export.ts'
import { messageOf } from '../../model/messages.ts'

const { audit: words } = texts

/** As many as a call gives. */
const PAGE_SIZE = 1_000

const TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv;charset=utf-8',
  jsonl: 'application/jsonl',
}

const FORMATS: readonly ExportFormat[] = ['csv', 'jsonl']

interface ExportProps {
  readonly account: string
  readonly filters: AuditFilters
}

export function AuditExport({ account, filters }: ExportProps) {
  const api = useApi()
  const say = useToast()
  const [count, setCount] = useState<number | undefined>(undefined)
  const running = useRef(new AbortController())
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => () => running.current.abort(), [])
  const start = async (format: ExportFormat) => {
    if (count !== undefined) return
    running.current = new AbortController()
    const { signal } = running.current
    let found = 0
    setCount(0)
    try {
      const parts = await exported(
        (pageToken) =>
          api.directory.listAuditRecords(
            { ...auditRequest(account, filters), pageSize: PAGE_SIZE, pageToken },
            { signal },
          ),
        format,
        (records) => {
          found = records
          setCount(records)
        },
        signal,
      )
      saveFile(`audit-${account}.${format}`, parts, TYPES[format])
      say({ text: words.exported(found) })
    } catch (error) {
      const failure = apiErrorOf(error)
      if (signal.aborted) say({ text: words.cancelled })
      else if (failure.reason !== GIVEN_UP) say({ text: messageOf(failure), kind: 'failed' })
    }
    setCount(undefined)
  }
  // The button goes with the export, and must not take the focus along.
  const cancel = () => {
    running.current.abort()
    box.current?.querySelector('button')?.focus()
  }
  return (
    <div ref={box} class="actions">
      {FORMATS.map((format) => (
        <button
          key={format}
          type="button"
          aria-disabled={count !== undefined}
          onClick={() => void start(format)}
        >
          <Icon name="file" />
          {words[format]}
        </button>
      ))}
      {count !== undefined && (
        <>
          <p class="progress" role="status">
            {words.exporting(count)}
          </p>
          <button type="button" onClick={cancel}>
            {words.cancel}
          </button>
        </>
      )}
    </div>
  )
}

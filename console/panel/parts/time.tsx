/** Dates, by the clock of the sidecar. */
import { texts } from '../../texts/en/panel.ts'
import { usePanel } from '../context.tsx'
import { dayOf, distanceOf, momentOf } from '../model/dates.ts'

export { msOf } from '../model/dates.ts'

/** A moment: “22 Nov 2026, 17:05”. @param ms `undefined` or `null`: `otherwise` */
export function Moment({
  ms,
  otherwise = texts.time.unknown,
}: {
  readonly ms: number | null | undefined
  readonly otherwise?: string
}) {
  const { panel } = usePanel()
  if (ms === null || ms === undefined) return <span class="dim">{otherwise}</span>
  return (
    <time dateTime={new Date(ms).toISOString()} title={distanceOf(ms, panel.nowMs(), texts.time)}>
      {momentOf(ms, texts.time.language)}
    </time>
  )
}

/** How far away a moment is: “5 minutes ago”. */
export function Distance({ ms }: { readonly ms: number }) {
  const { panel } = usePanel()
  return (
    <time dateTime={new Date(ms).toISOString()} title={momentOf(ms, texts.time.language)}>
      {distanceOf(ms, panel.nowMs(), texts.time)}
    </time>
  )
}

/** A day: “22 Nov 2026”. @param isoDate empty, `null` or `undefined`: `otherwise` */
export function Day({
  isoDate,
  otherwise = texts.time.never,
}: {
  readonly isoDate: string | null | undefined
  readonly otherwise?: string
}) {
  if (!isoDate) return <span class="dim">{otherwise}</span>
  return <time dateTime={isoDate}>{dayOf(isoDate, texts.time.language)}</time>
}

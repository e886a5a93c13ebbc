/** The day on which a key or passkey was used last: “Last used today”. */
import { texts } from '../../texts/en/profile.ts'
import { usePanel } from '../context.tsx'
import { lastUseOf } from '../model/keys.ts'
import { Day } from './time.tsx'

export function LastUse({ isoDate }: { readonly isoDate: string | null }) {
  const { panel } = usePanel()
  const use = lastUseOf(isoDate, panel.nowMs())
  return (
    <span class="item-fact">
      {typeof use === 'string' ? (
        texts.lastUse[use]
      ) : (
        <>
          {texts.lastUse.on} <Day isoDate={use.day} />
        </>
      )}
    </span>
  )
}

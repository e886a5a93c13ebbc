/** The day on which a key or passkey was used last. */
import { texts } from '../../texts/en/profile.ts'
import { usePanel } from '../context.tsx'
import { lastUseOf } from '../model/keys.ts'
import { Day } from './time.tsx'

export function LastUse({ isoDate }: { readonly isoDate: string | null }) {
  const { panel } = usePanel()
  const use = lastUseOf(isoDate, panel.nowMs())
  return typeof use === 'string' ? texts.keys.lastUse[use] : <Day isoDate={use.day} />
}

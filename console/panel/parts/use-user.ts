/** The control panel user whose profile is shown. */
import { useWho } from '../context.tsx'
import type { UserWho } from '../model/wire.ts'

export function useUser(): UserWho {
  const who = useWho()
  if (who.type !== 'user') throw new TypeError('expected a control panel user: operators have no profile')
  return who
}

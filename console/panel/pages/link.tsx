/** A link that logs a user in once. It does so by itself: a user who opened it wants nothing else. */
import { useCallback } from 'preact/hooks'
import { FIRST_ROUTE } from '../../model/routes.ts'
import { texts } from '../../texts/en/panel.ts'
import { goTo, usePanel } from '../context.tsx'
import { Unusable, useSecretLink } from '../parts/secret-link.tsx'

export function LinkPage({ takeSecret }: { readonly takeSecret: () => string | undefined }) {
  const { panel, api } = usePanel()
  const send = useCallback(
    async (secret: string) => {
      panel.accept(await api.session.useLink(secret))
      goTo(FIRST_ROUTE, 'replace')
    },
    [panel, api],
  )
  const link = useSecretLink(takeSecret, send)
  if (link.secret === undefined || link.problem !== undefined)
    return <Unusable link={link} words={texts.link} />
  return <p class="waiting">{texts.link.working}</p>
}

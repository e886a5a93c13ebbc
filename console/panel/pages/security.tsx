/** Profile → Security: the factors of a control panel user. */
import { texts } from '../../texts/en/profile.ts'
import { useApi } from '../context.tsx'
import { waysIn } from '../model/factors.ts'
import { CodeSection } from '../parts/code-section.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Page } from '../parts/page.tsx'
import { PasskeySection } from '../parts/passkey-section.tsx'
import { PasswordSection } from '../parts/password-section.tsx'
import { useLoaded } from '../parts/use-loaded.ts'

export function SecurityPage() {
  const { factors } = useApi()
  const loaded = useLoaded(factors.get)
  const { ways } = texts.security
  return (
    <Page title={texts.security.title} about={texts.security.about}>
      <LoadedView loaded={loaded}>
        {(value) => (
          <>
            <p class={waysIn(value).includes('password') ? 'notice' : undefined}>
              {ways[(waysIn(value).join(' ') || 'none') as keyof typeof ways]}
            </p>
            <PasswordSection factors={value} reload={loaded.reload} />
            <CodeSection factors={value} reload={loaded.reload} />
            <PasskeySection factors={value} reload={loaded.reload} />
          </>
        )}
      </LoadedView>
    </Page>
  )
}

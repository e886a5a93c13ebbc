/** Logging in. */
import { useEffect } from 'preact/hooks'
import { routeOf } from '../../model/link.ts'
import { FIRST_ROUTE, type Route } from '../../model/routes.ts'
import { texts } from '../../texts/en/panel.ts'
import { goTo, useMaybeWho } from '../context.tsx'
import { OPEN_PAGES } from '../model/pages.ts'
import { LoginForms } from '../parts/login-forms.tsx'

export function LoginPage({ route }: { readonly route: Route }) {
  const who = useMaybeWho()
  useEffect(() => {
    if (who !== undefined) goTo(afterwards(route), 'replace')
  }, [who, route])
  return <LoginCard />
}

/** @param about what somebody logs in for */
export function LoginCard({ about }: { readonly about?: string }) {
  return (
    <div class="card">
      <h1>{texts.login.title}</h1>
      {about && <p>{about}</p>}
      <LoginForms />
      <p class="hint">{texts.login.noPassword}</p>
      <p class="hint">{texts.login.forgotten}</p>
    </div>
  )
}

/** The page that somebody wanted to see. Only pages of the control panel: a link leads nowhere else. */
function afterwards({ given }: Route): Route {
  const wanted = routeOf(given.after ?? '')
  return wanted === undefined || OPEN_PAGES.includes(wanted.page) ? FIRST_ROUTE : wanted
}

/** Logging in. */
import { useEffect, useState } from 'preact/hooks'
import { routeOf } from '../../model/link.ts'
import { FIRST_ROUTE, type Route } from '../../model/routes.ts'
import { texts } from '../../texts/en/panel.ts'
import { Choice, Message } from '../../ui/parts.tsx'
import { goTo, useMaybeWho } from '../context.tsx'
import { OPEN_PAGES } from '../model/pages.ts'
import type { Who } from '../model/wire.ts'
import { LoginForm } from '../parts/login-forms.tsx'

export function LoginPage({ route }: { readonly route: Route }) {
  const who = useMaybeWho()
  useEffect(() => {
    if (who !== undefined) goTo(afterwards(route), 'replace')
  }, [who, route])
  return <LoginCard />
}

/** @param about the purpose of the login */
export function LoginCard({ about }: { readonly about?: string }) {
  const [as, setAs] = useState<Who['type']>('user')
  const words = texts.login.as[as]
  return (
    <div class="card">
      <h1>{words.title}</h1>
      {about && <p>{about}</p>}
      <div class="login-forms">
        <Choice
          label={texts.login.who}
          options={(['user', 'operator'] as const).map((value) => ({ value, text: texts.login[value] }))}
          chosen={as}
          choose={setAs}
        />
        <LoginForm as={as} />
      </div>
      {words.hints.map((hint) => (
        <p key={hint} class="hint">
          <Message text={hint} />
        </p>
      ))}
    </div>
  )
}

/** The page that the user wanted to see. Only pages of the control panel: a link leads nowhere else. */
function afterwards({ given }: Route): Route {
  const wanted = routeOf(given.after ?? '')
  return wanted === undefined || OPEN_PAGES.includes(wanted.page) ? FIRST_ROUTE : wanted
}

/** A link that logs somebody in once. It does so by itself: whoever opened it wants nothing else. */
import { useEffect, useState } from 'preact/hooks'
import { FIRST_ROUTE, linkTo } from '../../model/routes.ts'
import { texts } from '../../texts/en/panel.ts'
import { goTo, usePanel } from '../context.tsx'
import { apiErrorOf } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'

export function LinkPage({ takeSecret }: { readonly takeSecret: () => string | undefined }) {
  const { panel, api } = usePanel()
  const [problem, setProblem] = useState<string | undefined>(undefined)
  useEffect(() => {
    const secret = takeSecret()
    if (secret === undefined) {
      setProblem(texts.link.invalidHint)
      return
    }
    api.session.useLink(secret).then(
      (session) => {
        panel.accept(session)
        goTo(FIRST_ROUTE, 'replace')
      },
      (error) => {
        const found = apiErrorOf(error)
        setProblem(found.reason === 'LINK_INVALID' ? texts.link.invalidHint : messageOf(found))
      },
    )
  }, [takeSecret, panel, api])
  if (problem === undefined) return <p class="waiting">{texts.link.working}</p>
  return (
    <div class="card">
      <h1>{texts.link.invalid}</h1>
      <p role="alert">{problem}</p>
      <p>
        <a href={linkTo('login')}>{texts.link.logIn}</a>
      </p>
    </div>
  )
}

/** The first page after logging in: what to do next. */
import { linkTo, type PanelPage } from '../../model/routes.ts'
import { texts } from '../../texts/en/panel.ts'
import { Facts } from '../../ui/parts.tsx'
import { usePanel, useSession, useWho } from '../context.tsx'
import { menuOf } from '../model/pages.ts'
import { Page } from '../parts/page.tsx'
import { Distance, Moment } from '../parts/time.tsx'

const { overview } = texts

interface Step {
  readonly title: string
  readonly about: string
  /** A page of the control panel, linked only for users who may see it; or a view of the explorer. */
  readonly page?: PanelPage
  readonly href?: string
}

const STEPS: readonly Step[] = [
  { title: overview.serviceUser, about: overview.serviceUserAbout, page: 'iam/service-users' },
  { title: overview.key, about: overview.keyAbout, page: 'profile/access/keys' },
  { title: overview.accounts, about: overview.accountsAbout, page: 'operator/accounts' },
  { title: overview.callers, about: overview.callersAbout, page: 'operator/callers' },
  { title: overview.decisions, about: overview.decisionsAbout, page: 'operator/decisions' },
  { title: overview.request, about: overview.requestAbout, href: '#/try' },
  { title: overview.matrix, about: overview.matrixAbout, href: '#/matrix' },
  { title: overview.security, about: overview.securityAbout, page: 'profile/security' },
]

export function OverviewPage() {
  const who = useWho()
  const { there } = usePanel()
  const account = who.type === 'user' ? who.account : undefined
  const seen = menuOf(who, account, there).flatMap(({ pages }) => pages)
  const steps = STEPS.filter(({ page }) => page === undefined || seen.includes(page))
  return (
    <Page
      title={who.type === 'user' ? overview.title(who.name) : overview.operatorTitle(who.name)}
      about={who.type === 'user' ? overview.about : undefined}
    >
      <section>
        <h2>{overview.next}</h2>
        <ol class="next-steps">
          {steps.map(({ title, about, page, href }) => (
            <li key={title}>
              <a href={href ?? linkTo(page as PanelPage)}>
                <strong>{title}</strong>
                <span class="dim">{about}</span>
              </a>
            </li>
          ))}
        </ol>
      </section>
      <ThisSession />
    </Page>
  )
}

function ThisSession() {
  const { createdAtMs, endsAtMs, address } = useSession()
  return (
    <section>
      <h2>{overview.session}</h2>
      <Facts
        facts={{
          [overview.since]: <Distance ms={createdAtMs} />,
          [overview.from]: address === null ? undefined : <code>{address}</code>,
          [overview.ends]: <Moment ms={endsAtMs} />,
        }}
      />
    </section>
  )
}

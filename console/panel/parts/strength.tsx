/** The page's judgement of a password while it is typed. */
import { texts } from '../../texts/en/panel.ts'
import { faultOf, type Holder, strengthOf } from '../model/passwords.ts'

export function Strength({ password, holder }: { readonly password: string; readonly holder: Holder }) {
  if (password === '') return <p class="hint">{texts.password.hint}</p>
  const fault = faultOf(password, holder)
  if (fault === 'short') return <p class="hint">{texts.password.hint}</p>
  if (fault !== undefined) return <p class="fault">{texts.password.faults[fault]}</p>
  const strength = strengthOf(password)
  return (
    <p class="strength" data-strength={strength} role="status">
      {texts.password.strength[strength]}
    </p>
  )
}

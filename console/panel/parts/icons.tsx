/**
 * Signs that the control panel alone has. They are apart from the explorer's, whose first view needs none of
 * them.
 */
import { Sign } from '../../ui/icons.tsx'

const PATHS = {
  person: 'M8 2.5a2.75 2.75 0 1 0 0 5.5 2.75 2.75 0 0 0 0-5.5ZM2.5 14a5.5 5.5 0 0 1 11 0',
  down: 'M4.5 6.5 8 10l3.5-3.5',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
} as const

export function PanelIcon({ name }: { readonly name: keyof typeof PATHS }) {
  return <Sign name={name} path={PATHS[name]} />
}

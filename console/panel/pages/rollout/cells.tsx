/** How the shadow differs from the matrix in force, as the explorer shows it of two files. */
import { texts } from '../../../texts/en/operators.ts'
import { Result } from '../../../ui/comparison.tsx'
import type { Compared } from '../../model/matrices.ts'
import { NotLoaded } from '../../parts/loaded-view.tsx'
import type { Loaded } from '../../parts/use-loaded.ts'

const words = texts.matrix.cells

export function Cells({ compared }: { readonly compared: Loaded<Compared | undefined> }) {
  const { value, error, reload } = compared
  if (error !== undefined) return <NotLoaded error={error} retry={() => void reload()} />
  if (value === undefined) return <p class="waiting">{words.comparing}</p>
  return <Result title={words.title} words={words.sides} compared={value} />
}

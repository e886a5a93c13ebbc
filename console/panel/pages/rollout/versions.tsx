/** The last ten matrices that were put in force, newest first. */
import { texts } from '../../../texts/en/operators.ts'
import type { Version } from '../../model/rollout.ts'
import { Moment } from '../../parts/time.tsx'
import { Digest } from './digest.tsx'

const { versions: words, ...matrix } = texts.matrix

const TONES: Readonly<Record<string, string>> = { promoted: 'good', rolled_back: 'warn' }

export function Versions({ versions }: { readonly versions: readonly Version[] }) {
  return (
    <section class="changes">
      <h2>{words.title}</h2>
      {versions.length === 0 ? (
        <p class="dim">{words.none}</p>
      ) : (
        <table aria-label={words.title}>
          <thead>
            <tr>
              <th scope="col">{words.matrix}</th>
              <th scope="col">{words.action}</th>
              <th scope="col">{matrix.when}</th>
              <th scope="col">{matrix.by}</th>
              <th scope="col">{matrix.why}</th>
            </tr>
          </thead>
          <tbody>
            {versions.map(({ digest, action, actor, reason, atMs }) => (
              <tr key={`${atMs} ${digest}`}>
                <th scope="row">{digest === '' ? words.configurations : <Digest digest={digest} />}</th>
                <td data-label={words.action}>
                  <span class="badge" data-kind={TONES[action]}>
                    {words.actions[action] ?? action}
                  </span>
                </td>
                <td data-label={matrix.when}>
                  <Moment ms={atMs} />
                </td>
                <td data-label={matrix.by}>{actor}</td>
                <td data-label={matrix.why}>{reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

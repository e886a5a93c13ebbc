/**
 * A QR code, drawn from elements: the policy of the page allows no picture of another origin and no text as
 * markup.
 */
import { useEffect, useState } from 'preact/hooks'
import { QUIET, squaresPath } from '../model/squares.ts'

interface QrCodeProps {
  readonly text: string
  /** For those who do not see it. */
  readonly label: string
}

export function QrCode({ text, label }: QrCodeProps) {
  const [drawn, setDrawn] = useState<{ readonly size: number; readonly path: string } | undefined>()
  useEffect(() => {
    let here = true
    import('uqr').then(
      ({ encode }) => {
        const { data } = encode(text, { ecc: 'M', border: 0 })
        if (here) setDrawn({ size: data.length + 2 * QUIET, path: squaresPath(data) })
      },
      // The secret stands beside it as a text.
      () => {},
    )
    return () => {
      here = false
    }
  }, [text])
  if (drawn === undefined) return <div class="qr" aria-hidden="true" />
  return (
    <svg class="qr" viewBox={`0 0 ${drawn.size} ${drawn.size}`} role="img" aria-label={label}>
      <path d={drawn.path} />
    </svg>
  )
}

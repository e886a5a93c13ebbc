/** Parts of all pictures. echarts draws them without a browser, and the same input gives the same bytes. */
import { init } from 'echarts'

// Colours for a white background, which every picture has: GitHub shows pictures on white and on black pages.
export const INK = '#1f2328'
export const FAINT = '#59636e'
export const FONT = "-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"

/** The title and the text below it, at the top left. */
export function titleOf(text: string, subtext: string) {
  return {
    text,
    subtext,
    left: 16,
    top: 12,
    textStyle: { fontSize: 17, color: INK, fontFamily: FONT },
    subtextStyle: { fontSize: 12, lineHeight: 18, color: FAINT, fontFamily: FONT },
  }
}

/** @param option of echarts, without what all pictures share */
export function drawSvg(width: number, height: number, option: object): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height })
  try {
    chart.setOption({
      animation: false,
      backgroundColor: '#ffffff',
      textStyle: { fontFamily: FONT, color: INK },
      ...option,
    })
    return stillOf(chart.renderToSVGString())
  } finally {
    chart.dispose()
  }
}

/**
 * Removes what echarts adds for interactive pages, whose numbers depend on earlier charts of the process. The
 * font is that of the whole picture.
 */
function stillOf(svg: string): string {
  const still = svg
    .replaceAll(/ (?:class|ecmeta_\w+|pointer-events)="[^"]*"/g, '')
    .replaceAll(/<style[\s\S]*?<\/style>\n?/g, '')
    .replaceAll(`font-family:${FONT};`, '')
  return `${still.replace('<svg ', `<svg font-family="${FONT}" `)}\n`
}

// A drag with the mouse, as over a chart or the map.
import type { Locator } from 'playwright-core'

/** Pixels from the upper left corner of what is dragged over. */
type Spot = readonly [x: number, y: number]

/** Resolves to false if there is nothing to drag over. What arrives later on the page may move it, so that the drag misses
 *  it: look at what came of it, and drag again. */
export async function dragOver(
  area: Locator,
  spotsOf: (size: { readonly width: number; readonly height: number }) => readonly [from: Spot, to: Spot],
): Promise<boolean> {
  const box = await area.boundingBox()
  if (box === null) return false
  const [from, to] = spotsOf(box)
  const { mouse } = area.page()
  await mouse.move(box.x + from[0], box.y + from[1])
  await mouse.down()
  await mouse.move(box.x + to[0], box.y + to[1], { steps: 5 })
  await mouse.up()
  return true
}

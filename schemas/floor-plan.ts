// Bodies of /floor-plan: the picture under the plan of devices.

import { type Static, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { closed, object } from './json-schema.ts'

/** Large enough for metres and degrees, and small enough for exact computation. */
const FAR = 1e9
const coordinate = (description: string, example: number) =>
  Type.Number({ minimum: -FAR, maximum: FAR, description, examples: [example] })
const metric = (description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: BODY_LIMITS.metricNameBytesMax,
    description,
    examples: [example],
  })

/** A picture of one white pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQAAAAA3bvkkAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=='

const PLACED = {
  picture: Type.String({
    minLength: 1,
    maxLength: Math.ceil(BODY_LIMITS.floorPlanBytesMax / 3) * 4,
    contentEncoding: 'base64',
    description: 'A PNG, JPEG or WebP of up to 4 MiB and 40 million pixels, as Base64.',
    examples: [PIXEL],
  }),
  x_metric: metric('The metric that is greater the further to the right a device stands.', 'position.x'),
  y_metric: metric('The metric that is greater the further up a device stands.', 'position.y'),
  left: coordinate('Where the left edge of the picture is.', 0),
  bottom: coordinate('Where its lower edge is.', 0),
  right: coordinate('Where its right edge is: further than the left one.', 40),
  top: coordinate('Where its upper edge is: further than the lower one.', 25),
}

export const PutFloorPlanBody = closed('PutFloorPlanBody', PLACED)
export type PutFloorPlanBody = Static<typeof PutFloorPlanBody>

export const FLOOR_PLAN_TYPES = ['image/png', 'image/jpeg', 'image/webp'] as const
export const FloorPlanBody = object('FloorPlan', {
  media_type: Type.Enum(FLOOR_PLAN_TYPES, { description: 'As the first bytes of the picture say.' }),
  ...PLACED,
})
export type FloorPlanBody = Static<typeof FloorPlanBody>

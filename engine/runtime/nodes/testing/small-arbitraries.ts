// For tests: the small values that any work of nodes is made of.
import fc from 'fast-check'

export const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
export const name = fc.string({ maxLength: 12 })
export const count = fc.nat()

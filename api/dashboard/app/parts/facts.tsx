import type { ComponentChildren } from 'preact'

export interface FactsProps {
  /** A value that is undefined has no line. */
  readonly rows: readonly (readonly [name: string, value: ComponentChildren | undefined])[]
}

export function Facts({ rows }: FactsProps) {
  return (
    <dl class="facts">
      {rows.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

// The frame of a view: its heading, which takes the focus when the view is entered, and its actions.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { OperationId } from '../../../../schemas/client/calls.ts'
import { may } from '../data/access.ts'
import { AsOf } from './freshness.tsx'
import { RoleNeeded } from './role-needed.tsx'

export interface PageProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly actions?: ComponentChildren
  /** A status or a count, shown beside the heading. */
  readonly mark?: ComponentChildren
  /** Without the role for it there is nothing to see or to do here. */
  readonly needs?: OperationId
}

let isFirst = true

export function Page({ title, children, actions, mark, needs }: PageProps) {
  const isAllowed = needs === undefined || may(needs)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Fleet`
  }, [title])
  useEffect(() => {
    // A page that was just loaded leaves the focus where the browser puts it.
    if (isFirst) isFirst = false
    else heading.current?.focus({ preventScroll: true })
  }, [])
  return (
    <>
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {mark}
        <AsOf />
        {actions !== undefined && isAllowed && <div class="page-actions">{actions}</div>}
      </header>
      {isAllowed ? children : <RoleNeeded operation={needs} />}
    </>
  )
}

import type { VNode } from 'preact';

// Drawn on a grid of 24, by strokes.
const paths = {
  plus: 'M12 5v14M5 12h14',
  send: 'M5 12h13M12 5l7 7-7 7',
  stop: 'M7 7h10v10H7z',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  data: 'M4 6c0-1.700 3.600-3 8-3s8 1.300 8 3-3.600 3-8 3-8-1.300-8-3zM4 6v12c0 1.700 3.600 3 8 3s8-1.300 8-3V6M4 12c0 1.700 3.600 3 8 3s8-1.300 8-3',
  share: 'M16 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 12a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 20c0-3 2.700-5 6-5s6 2 6 5M16 14c3.300 0 6 2 6 5',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  rename: 'M4 8V6h9v2M8.500 6v12M6.500 18h4M17 5c1.500 0 2 1 2 2v10c0 1 .500 2 2 2M17 19c1.500 0 2-1 2-2M21 5c-1.500 0-2 1-2 2',
  up: 'M7 10v10H4V10zM7 11l4-7c1.500 0 2.500 1 2.500 2.500V10H18a2 2 0 0 1 2 2.300l-1 6A2 2 0 0 1 17 20H7',
  down: 'M7 14V4H4v10zM7 13l4 7c1.500 0 2.500-1 2.500-2.500V14H18a2 2 0 0 0 2-2.300l-1-6A2 2 0 0 0 17 4H7',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  check: 'M5 12.500l4.500 4.500L19 7.500',
  alert: 'M12 8v5M12 16.500v.500M12 3l9.500 17h-19z',
  verified: 'M12 3l8 3v6c0 4.500-3.300 7.800-8 9-4.700-1.200-8-4.500-8-9V6zM8.500 12l2.500 2.500 4.500-4.500',
  link: 'M10 14a4 4 0 0 0 5.700 0l3-3a4 4 0 0 0-5.700-5.700l-1 1M14 10a4 4 0 0 0-5.700 0l-3 3a4 4 0 0 0 5.700 5.700l1-1',
  pin: 'M9 4h6l-1 6 4 4H6l4-4zM12 14v7',
  expand: 'M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5',
  leave: 'M14 4H5v16h9M10 12h11M17 8l4 4-4 4',
  keyboard: 'M3 6h18v12H3zM7 10h.010M11 10h.010M15 10h.010M8 14h8',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  receipt: 'M6 3v18l2-1.500 2 1.500 2-1.500 2 1.500 2-1.500 2 1.500V3l-2 1.500L14 3l-2 1.500L10 3 8 4.500zM9 9h6M9 13h6',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }): VNode {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

/** IconButton is a button that only shows an icon; label says what it does. */
export function IconButton(props: { icon: IconName; label: string; onClick: () => void; onBlur?: () => void; pressed?: boolean; disabled?: boolean }): VNode {
  const { icon, label, pressed, ...rest } = props;
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} aria-pressed={pressed} {...rest}>
      <Icon name={icon} />
    </button>
  );
}

// What leaves the page: files and the clipboard.

export const download = (name: string, type: string, text: string): void => save(name, new Blob([text], { type: `${type};charset=utf-8` }));

export function save(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** copy puts a text on the clipboard, and a table beside it, also where the page did not come by https. */
export async function copy(text: string, html = ''): Promise<boolean> {
  try {
    const blob = (type: string, content: string) => new Blob([content], { type });
    if (html) await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob('text/plain', text), 'text/html': blob('text/html', html) })]);
    else await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const put = (event: ClipboardEvent) => {
      event.clipboardData?.setData('text/plain', text);
      if (html) event.clipboardData?.setData('text/html', html);
      event.preventDefault();
    };
    const before = document.activeElement as HTMLElement | null;
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'offscreen';
    document.body.append(area);
    area.select();
    document.addEventListener('copy', put);
    const done = document.execCommand('copy');
    document.removeEventListener('copy', put);
    area.remove();
    before?.focus();
    return done;
  }
}

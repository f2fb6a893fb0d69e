from tests.browser.test_log_viewer import *

async def test_shot(site, tmp_path):
    log = FAILED.replace(b"note 3\n", b"\x1b[1;32mok\x1b[0m \x1b[38;5;208morange\x1b[0m \x1b[48;5;24;97m white on blue \x1b[0m \x1b[38;2;255;100;200mtrue pink\x1b[0m \x1b[7minverse\x1b[0m \x1b[33myellow \x1b[93mbright\x1b[0m \x1b[34mblue\x1b[0m see https://example.com/x?y=1. \x1b]8;;https://docs.example.com/a\x07docs\x1b]8;;\x07 \xe2\x80\xaeabc\n")
    job = await job_with(site, log, "failed")
    async with viewing(site, job, tmp_path) as page:
        await expect(line(page, ERROR_LINE)).to_be_in_viewport()
        await page.screenshot(path="/tmp/a.png")
        await page.emulate_media(color_scheme="dark")
        await page.locator('[data-log="search"] input[name=q]').fill("note 1")
        await expect(page.locator('[data-log="hits"]')).to_contain_text("/ ")
        await page.screenshot(path="/tmp/b.png")
        await page.set_viewport_size({"width": 390, "height": 844})
        await page.keyboard.press("Escape")
        await page.screenshot(path="/tmp/c.png")

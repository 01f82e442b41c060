/* Hands requests of programs to the worker, and waits for their end. */
#include "emu.h"

int emu_ask(struct emu_driver *driver, struct emu_request *request)
{
	init_completion(&request->done);
	request->until_ns = 0;
	spin_lock(&driver->request_lock);
	list_add_tail(&request->link, &driver->requests);
	spin_unlock(&driver->request_lock);
	emu_bottom_interrupt(driver);
	wait_for_completion(&request->done);
	return request->status;
}

int emu_submit(struct emu_gpu *gpu, struct emu_job *job)
{
	struct emu_request request = {.ask = EMU_ASK_BEGIN, .space = job->space, .processor = gpu->id};
	int result;

	emu_ask(gpu->driver, &request);
	result = emu_gpu_submit(gpu, job);
	request.ask = EMU_ASK_END;
	emu_ask(gpu->driver, &request);
	return result;
}
